"""The contract of every kind: its evaluation, errors and quality are functions of the tuples and the answers."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.kind_samples import KEYS, SAMPLES, SOME, answers, assert_same, content, every, kind_of, magnitude
from kit.draws.streams import disordered
from kit.oracles.oracle import Tuple
from tailrace.kinds import KINDS


def test_every_kind_has_a_sample() -> None:
    of_pairs = {"emd_join", "spatial_join"}  # in test_emd_join.py and test_spatial_join.py
    assert {sample["kind"] for sample in SAMPLES.values()} | of_pairs == set(KINDS)


@every
@SOME
@given(data=st.data(), case=disordered())
def test_evaluate_does_not_depend_on_order(name: str, data, case) -> None:
    tuples, query = case
    kind = kind_of(name, query.size, query.slide)
    shuffled = data.draw(st.permutations(tuples), label="order")
    found = answers(kind.evaluate(content(kind, shuffled)))
    assert_same(found, answers(kind.evaluate(content(kind, tuples))), magnitude(tuples))


@every
def test_evaluate_of_nothing_gives_no_answer(name: str) -> None:
    kind = kind_of(name)
    nothing = kind.evaluate(content(kind, []))
    assert (nothing.schema, nothing.num_rows) == (kind.answer, 0)


@every
@SOME
@given(case=disordered(min_tuples=1))
def test_quality_of_the_exact_answers_is_1_and_of_none_is_0(name: str, case) -> None:
    tuples, query = case
    kind = kind_of(name, query.size, query.slide)
    exact = pa.Table.from_batches([kind.evaluate(content(kind, tuples))])
    assert kind.quality(exact, exact) == 1
    assert kind.quality(exact.slice(0, 0), exact) == 0


@pytest.mark.filterwarnings("ignore:overflow encountered")  # unit/aggregate/test_kind.py has the case
@every
@SOME
@given(data=st.data(), case=disordered(min_tuples=1))
def test_quality_of_a_part_is_between_0_and_1(name: str, data, case) -> None:
    tuples, query = case
    kind = kind_of(name, query.size, query.slide)
    part = data.draw(st.lists(st.sampled_from(tuples), unique=True), label="part")
    near, exact = (pa.Table.from_batches([kind.evaluate(content(kind, rows))]) for rows in (part, tuples))
    assert 0 <= kind.quality(near, exact) <= 1
    assert 0 <= kind.quality(exact, near) <= 1


@every
def test_quality_finds_the_answers_of_the_null_key(name: str) -> None:
    kind = kind_of(name, 10, 10)
    exact, near = (
        pa.Table.from_batches([kind.evaluate(content(kind, [Tuple(5, 5, i, key, 1.0) for i, key in enumerate(keys)]))])
        for keys in ([None, "a"], [None])
    )
    assert kind.quality(exact, exact) == 1
    assert kind.quality(near, exact) == 0.5


@every
def test_quality_over_no_exact_answers_is_1(name: str) -> None:
    kind = kind_of(name)
    nothing = pa.Table.from_batches([kind.evaluate(content(kind, []))])
    assert kind.quality(nothing, nothing) == 1


@every
@SOME
@given(case=disordered(min_tuples=1))
def test_errors_tell_each_window_once_0_where_it_is_right_and_1_where_it_is_missing(name: str, case) -> None:
    tuples, query = case
    kind = kind_of(name, query.size, query.slide)
    exact = pa.Table.from_batches([kind.evaluate(content(kind, tuples))])
    for near, error in ((exact, 0.0), (exact.slice(0, 0), 1.0)):
        found = answers(kind.errors(near, exact))
        assert found.keys() == {window[:3] for window in answers(exact)}
        assert {row["error"] for row in found.values()} == {error}


@every
@SOME
@given(case=disordered(min_tuples=1))
def test_the_answer_model_tells_answers_and_their_rows_apart(name: str, case) -> None:
    tuples, query = case
    kind = kind_of(name, query.size, query.slide)
    model, rows = kind.answers, pa.Table.from_batches([kind.evaluate(content(kind, tuples))])
    assert [*model.identity.columns] == kind.answer.names[: len(model.identity.columns)]
    assert {*model.horizon_columns, *model.identity.determining} <= {*model.identity.columns}
    windows = [tuple(row[part] for part in KEYS) for row in rows.to_pylist()]
    once = [tuple(row[part] for part in KEYS) for row in model.first_rows(rows).to_pylist()]
    assert once == list(dict.fromkeys(windows))
    assert model.first_rows(rows).equals(model.identity.first_rows(rows))
    assert model.affected_from(rows).contains(rows).all()
    assert len({tuple(row[part] for part in model.order) for row in rows.to_pylist()}) == rows.num_rows
    (number,) = model.identity.number(rows)
    assert len({*zip(number.tolist(), windows, strict=True)}) == len({*number.tolist()}) == len({*windows})
