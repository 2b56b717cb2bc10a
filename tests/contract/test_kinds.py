"""What every kind promises. A new kind needs a line in SAMPLES: the section that declares it, in a query file."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness import policy_json, stamp_settings
from oracle import Tuple
from streams import cuts, disordered, pieces
from tailrace.disorder.clock import Clock, Frontier
from tailrace.disorder.ticks import number, summarise
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.kind.capabilities import Amends
from tailrace.kind.protocol import Kind
from tailrace.kinds import KINDS, build
from tailrace.query.query import declared_query

SAMPLES = {
    "sum": {"kind": "aggregate", "aggregate": {"function": "sum", "column": "value"}},
    "count": {"kind": "aggregate", "aggregate": {"function": "count"}},
    "avg": {"kind": "aggregate", "aggregate": {"function": "avg", "column": "value"}},
    "min": {"kind": "aggregate", "aggregate": {"function": "min", "column": "value"}},
    "max": {"kind": "aggregate", "aggregate": {"function": "max", "column": "value"}},
    "median": {"kind": "aggregate", "aggregate": {"function": "median", "column": "value"}},
    "quantile": {"kind": "aggregate", "aggregate": {"function": "quantile", "column": "value", "q": 0.9}},
    "topk": {"kind": "topk", "topk": {"k": 3, "score": "value"}},
    "ascending": {"kind": "topk", "topk": {"k": 1, "score": "value", "order": "ascending"}},
    "sma": {"kind": "topk", "topk": {"k": 3, "score": "value", "method": "sma"}},
    "mintopk": {"kind": "topk", "topk": {"k": 3, "score": "value", "method": "mintopk"}},
    "gstopk": {"kind": "topk", "topk": {"k": 3, "score": "value", "method": "gstopk"}},
}
OTHERWISE = ("sma", "mintopk")
"""Do not count late tuples in their open windows."""
INTEGERS = ("topk", "gstopk")
"""Are tried with ids that are integers."""
every = pytest.mark.parametrize("name", SAMPLES)
SOME = settings(max_examples=15, deadline=None)
KEYS = ["key", "window_start", "window_end"]
LONG = 36_525 * 86_400_000


def kind_of(name: str, size: int = 500, slide: int = 100) -> Kind:
    stream = {"source": {"format": "parquet", "path": "data"}, "event_time": "event_time", "id": "id", "key": "key"}
    window = {"size": f"{size} ms", "slide": f"{slide} ms"}
    declared = {"name": "sample", "streams": {"readings": stream}, "window": window}
    id_type = pa.int64() if name in INTEGERS else pa.string()
    return build(declared_query(declared | SAMPLES[name]), pa.string(), id_type)


def content(kind: Kind, tuples: list[Tuple], tick: list[int] | None = None) -> pa.RecordBatch:
    columns = {
        "event_time": pa.array([item.event_time for item in tuples], pa.int64()),
        "key": pa.array([item.key for item in tuples], pa.string()),
        "id": ids(tuples, kind.id_type),
        "tick": pa.array(tick or [0] * len(tuples), pa.int64()),
    }
    values = {part: pa.array([item.value for item in tuples], pa.float64()) for part in kind.columns}
    return pa.RecordBatch.from_pydict(columns | values)


def ids(tuples: list[Tuple], kind: pa.DataType) -> pa.Array:
    """As text, or as integers: t7 is 7."""
    texts = [str(item.id) for item in tuples]
    return pa.array([int(text.lstrip("t")) for text in texts] if kind == pa.int64() else texts, kind)


def answers(batch: pa.RecordBatch | pa.Table) -> dict[tuple, dict]:
    return by_answer(batch.to_pylist())


def by_answer(rows: list[dict]) -> dict[tuple, dict]:
    """Rows by window, and by rank where an answer has many."""
    found = {tuple(row[name] for name in (*KEYS, "rank") if name in row): row for row in rows}
    assert len(found) == len(rows), "an answer was given twice"
    return found


def assert_same(found: dict[tuple, dict], expected: dict[tuple, dict], size: float) -> None:
    """Equal; numbers to within the last places of a sum over values up to `size`."""
    assert found.keys() == expected.keys()
    for window, row in expected.items():
        exact = {name: value for name, value in row.items() if not isinstance(value, float)}
        assert {name: found[window][name] for name in exact} == exact
        near = {name: value for name, value in row.items() if isinstance(value, float)}
        assert {name: found[window][name] for name in near} == pytest.approx(near, rel=1e-9, abs=1e-9 * size)


def assert_same_late(found: list[dict], expected: list[dict], size: float) -> None:
    by_row = [{tuple(row[name] for name in ("key", "pane", "tick")): row for row in rows} for rows in (found, expected)]
    assert [len(rows) for rows in by_row] == [len(found), len(expected)]
    assert_same(*by_row, size)


def magnitude(tuples: list[Tuple]) -> float:
    return sum(abs(item.value) for item in tuples)


class Run:
    """A kind stepped over a stream, its clock beside it, the partials of each piece combined on their own."""

    def __init__(self, kind: Kind, tuples: list[Tuple], tick_ms: int, policy) -> None:
        self.kind, self.tuples = kind, tuples
        arrival = np.array([item.arrival_time for item in tuples], np.int64)
        self.event = np.array([item.event_time for item in tuples], np.int64)
        self.tick, self.end = number(arrival, np.arange(len(tuples)), tick_ms)
        self.clock, self.state = Clock(), kind.start()
        stamp_settings(self.clock, policy_json(policy), BEFORE_ALL)

    def advance(self, mine: np.ndarray, close: bool) -> Frontier:
        frontier = self.clock.advance(summarise(self.tick[mine], self.end[mine], self.event[mine]))
        last_end = int(self.kind.windows.last_end(np.array([self.clock.t_max]))[0])
        return self.clock.close(frontier, last_end) if close else frontier

    def partials(self, mine: np.ndarray) -> pa.RecordBatch:
        at = np.flatnonzero(mine).tolist()
        return self.kind.combine(content(self.kind, [self.tuples[i] for i in at], self.tick[mine].tolist()))

    def step(self, ticks: list[int], close: bool, parts: int = 1) -> tuple[list[dict], list[dict]]:
        """Take in these ticks, and close what is open after them; their tuples combined in so many parts."""
        mine = np.isin(self.tick, ticks)
        batches = [self.partials(mine & (np.arange(len(mine)) % parts == part)) for part in range(parts)]
        frontier = self.advance(mine, close)
        table = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches])
        self.state, closed, decided_at, late = self.kind.step(self.state, table, frontier)
        assert closed.schema.names == self.kind.answer.names
        assert decided_at.tolist() == frontier.closing(np.asarray(closed.column("window_end"))).tolist()
        return closed.to_pylist(), late.to_pylist()

    def restart(self) -> None:
        self.state = self.kind.restore(self.state.to_arrow())


def ran(
    name: str,
    case,
    ticks_a_step: list[list[int]] | None = None,
    restart: bool = False,
    parts: int = 1,
    quiet: tuple[bool, ...] = (),
):
    """Answers and late rows of a bounded run; `quiet` tells after which steps the stream falls quiet."""
    tuples, query = case
    run = Run(kind_of(name, query.size, query.slide), tuples, query.tick, query.policy)
    steps = ticks_a_step or [sorted(set(run.tick.tolist()))]
    closed, late = [], []
    for i, ticks in enumerate(steps):
        more = run.step(ticks, i == len(steps) - 1 or (i < len(quiet) and quiet[i]), parts)
        closed, late = closed + more[0], late + more[1]
        if restart:
            run.restart()
    return by_answer(closed), sorted(late, key=lambda row: (row["tick"], row["pane"], str(row["key"])))


def test_every_kind_has_a_sample() -> None:
    assert {sample["kind"] for sample in SAMPLES.values()} == set(KINDS)


@every
@SOME
@given(case=disordered(min_tuples=1), parts=st.integers(2, 4))
def test_combine_of_the_whole_is_the_merge_of_the_parts(name: str, case, parts: int) -> None:
    whole, in_parts = ran(name, case), ran(name, case, parts=parts)
    assert_same(in_parts[0], whole[0], magnitude(case[0]))
    assert_same_late(in_parts[1], whole[1], magnitude(case[0]))


@every
@SOME
@given(case=disordered(min_tuples=1))
def test_step_with_nothing_late_is_evaluate(name: str, case) -> None:
    tuples, query = case
    assume(max(item.event_time for item in tuples) - min(item.event_time for item in tuples) < LONG)
    found, late = ran(name, (tuples, query.__class__(query.size, query.slide, query.tick, policy=("k_slack", LONG))))
    assert not late
    kind = kind_of(name, query.size, query.slide)
    assert_same(found, answers(kind.evaluate(content(kind, tuples))), magnitude(tuples))


@every
@SOME
@given(data=st.data(), case=disordered(min_tuples=2))
def test_cut_and_restored_between_any_ticks_the_answers_are_the_same(name: str, data, case) -> None:
    tuples, query = case
    ticks = sorted(set(Run(kind_of(name), tuples, query.tick, query.policy).tick.tolist()))
    found = ran(name, case, pieces(ticks, data.draw(cuts(len(ticks)), label="cuts")), restart=True)
    whole = ran(name, case)
    assert_same(found[0], whole[0], magnitude(tuples))
    assert_same_late(found[1], whole[1], magnitude(tuples))


@every
@SOME
@given(data=st.data(), case=disordered(min_tuples=2))
def test_a_quiet_stream_goes_on_and_each_tuple_is_in_an_answer_or_late(name: str, data, case) -> None:
    tuples, query = case
    ticks = sorted(set(Run(kind_of(name), tuples, query.tick, query.policy).tick.tolist()))
    steps = pieces(ticks, data.draw(cuts(len(ticks)), label="cuts"))
    quiet = tuple(data.draw(st.lists(st.booleans(), min_size=len(steps), max_size=len(steps)), label="quiet"))
    found, late = ran(name, case, steps, quiet=quiet)  # no answer twice: `ran` holds that
    again, late_again = ran(name, case, steps, restart=True, quiet=quiet)
    assert_same(again, found, magnitude(tuples))
    assert_same_late(late_again, late, magnitude(tuples))
    kind = kind_of(name, query.size, query.slide)
    due = answers(kind.evaluate(content(kind, tuples)))
    missed = sum(row["tuples"] * windows_missed(kind, row) for row in late)
    if name not in OTHERWISE:
        assert tuples_in(found) + missed == tuples_in(due)


def tuples_in(found: dict[tuple, dict]) -> int:
    return sum(row["tuples"] for row in found.values() if row.get("rank", 1) == 1)


def windows_missed(kind: Kind, row: dict) -> int:
    """By each tuple of a late row."""
    return len(kind.windows.ends(np.array([row["pane"]]), None, row["frontier"])[0])


@every
def test_a_fresh_state_survives_too(name: str) -> None:
    kind = kind_of(name)
    kept = kind.start().to_arrow()
    again = kind.restore(kept).to_arrow()
    assert {part: (batch.schema, batch.num_rows) for part, batch in again.items()} == {
        part: (batch.schema, batch.num_rows) for part, batch in kept.items()
    }


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
def test_what_is_amended_by_late_tuples_is_what_all_tuples_give(name: str, case) -> None:
    tuples, query = case
    kind, (found, late) = kind_of(name, query.size, query.slide), ran(name, case)
    missed = []
    for row in late:
        ends = kind.windows.ends(np.array([row["pane"]]), None, row["frontier"])[1].tolist()
        missed += [row | {"window_start": end - query.size, "window_end": end} for end in ends]
    columns = [kind.answer.field(part) for part in (*KEYS, "tuples")]
    rows = pa.Table.from_pylist(missed, pa.schema([*columns, ("total", pa.float64())]))
    if not isinstance(kind, Amends):
        return
    amended = kind.amend(pa.Table.from_pylist([*found.values()], kind.answer), rows)
    assert amended.schema == kind.answer
    exact = answers(kind.evaluate(content(kind, tuples)))
    given_anew = exact.keys() - answers(amended).keys()
    assert not given_anew or amended.num_rows == 0
    assert_same(answers(amended), {window: exact[window] for window in answers(amended)}, magnitude(tuples))


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
    assert {model.horizon, *model.identity.determining} <= {*model.identity.columns}
    windows = [tuple(row[part] for part in KEYS) for row in rows.to_pylist()]
    once = [tuple(row[part] for part in KEYS) for row in model.once(rows).to_pylist()]
    assert once == list(dict.fromkeys(windows))
    assert model.once(rows).equals(model.identity.first_rows(rows))
    assert model.of(rows).contains(rows).all()
    assert len({tuple(row[part] for part in model.order) for row in rows.to_pylist()}) == rows.num_rows
    (number,) = model.identity.number(rows)
    assert len({*zip(number.tolist(), windows, strict=True)}) == len({*number.tolist()}) == len({*windows})
