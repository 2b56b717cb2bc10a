"""Keys and ids that a NUL tells apart: they stay apart in corrections and in all that is read, as any others do."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from expect import assert_close
from harness import raw_table
from here import streamed_here
from oracle import Settings, Tuple, batch, distinct, stream
from rankings import contents, listed, ranked
from tailrace.aggregate.kind import Aggregate
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import read_quality
from tailrace.spark import correct as module
from tailrace.spark.correct import correct
from tailrace.storage.results import read_answers
from tailrace.topk.kind import TopK
from tailrace.windows.sliding import Sliding
from warehouse import EPOCH, even, make_stream

KEYS = {"k0": "a", "k1": "a\0b", "k2": "a\0", "k3": "", "k4": "\0"}
SETTINGS = Settings(500, 100, 100, "sum", "none")


def with_nul(item):
    """With other keys, and an id that is another one's but for a NUL."""
    number = int(item.id[1:])
    return item._replace(key=KEYS[item.key], id=f"t{number // 2}" + "\0" * (number % 2))


TUPLES = [with_nul(item) for item in make_stream(600, seed=3, duplicates=25)]


@pytest.fixture(params=["sum", "median", "topk"])
def corrected(request, tmp_path, monkeypatch):
    """A query, its settings, and the warehouse in which its late tuples were corrected twice."""
    monkeypatch.setattr(module, "session", None)  # so little needs no Spark
    topk = {"k": 2, "score": "value"} if request.param == "topk" else None
    settings = replace(SETTINGS, function="median" if topk else request.param)
    query = streamed_here(tmp_path, settings, TUPLES, even(600, 6), topk=topk)
    last = stream(TUPLES, settings).as_of
    for span in (
        CorrectionRange(EPOCH, EPOCH + 4_000, arrival=True),
        CorrectionRange(EPOCH + 4_000, last, arrival=True),
        CorrectionRange(),
        CorrectionRange(),
    ):
        correct(query, tmp_path / "wh", span)
    return query, settings, tmp_path / "wh"


def test_each_window_stands_once_with_the_answer_of_its_own_key(corrected):
    query, settings, warehouse = corrected
    answers, _ = read_answers(query, warehouse, streamed=False)
    rows = answers.to_pylist()
    truth = batch(TUPLES, settings)
    if query.kind == "topk":
        assert listed(rows) == ranked(contents(distinct(TUPLES, settings.tick), settings), 2)
        rows = [row for row in rows if row["rank"] == 1]
    found = {(row["key"], row["window_start"], row["window_end"]): row for row in rows}
    assert len(found) == len(rows)
    assert found.keys() == truth.keys()
    assert {(row["tuples"], row["coverage"]) for row in rows} == {(true.tuples, 1.0) for true in truth.values()}
    for window, true in truth.items():
        assert found[window]["tuples"] == true.tuples
        if query.kind != "topk":
            assert_close(found[window]["value"], true.value, true.sum_abs)


def test_coverage_counts_what_its_own_key_missed(corrected):
    query, settings, warehouse = corrected
    outcome = stream(TUPLES, settings)
    missed = dict.fromkeys(outcome.answers, 0)
    for late in outcome.late_tuples:
        for window in late.windows:
            missed[late.tuple.key, *window] = missed.get((late.tuple.key, *window), 0) + 1
    answers, _ = read_answers(query, warehouse, streamed=True)
    for row in answers.to_pylist():
        window = (row["key"], row["window_start"], row["window_end"])
        assert row["coverage"] == row["tuples"] / (row["tuples"] + missed[window])


def test_each_window_is_measured_once(corrected):
    query, settings, warehouse = corrected
    outcome, truth = stream(TUPLES, settings), batch(TUPLES, settings)
    measured, _ = read_quality(query, warehouse)
    missing = len(truth.keys() - outcome.answers.keys())
    assert [pc.sum(measured[name]).as_py() for name in ("answers", "missing")] == [len(outcome.answers), missing]
    if query.kind != "topk":
        near = {
            window: abs(answer.value - truth[window].value) < 0.05 * abs(truth[window].value)
            for window, answer in outcome.answers.items()
        }
        assert pc.sum(measured["off"]).as_py() == missing + list(near.values()).count(False)


SUM = Aggregate(Sliding(10, 10), "sum", {"value": "value"}, pa.string())
TOP = TopK(Sliding(10, 10), 1, True, {"score": "value"}, pa.string(), pa.string())


@pytest.mark.parametrize("kind", [SUM, TOP], ids=["sum", "topk"])
def test_errors_are_told_of_answers_that_come_in_chunks(kind):
    tuples = [Tuple(0, 0, f"t{number}", key, 1.0) for number, key in enumerate(KEYS.values())]
    content = raw_table(tuples).rename_columns({"value": next(iter(kind.columns))}).combine_chunks().to_batches()[0]
    answers = pa.Table.from_batches([kind.evaluate(content.slice(start, 2)) for start in (0, 2, 4)])
    errors = kind.errors(answers.slice(0, 3), answers)
    assert dict(zip(errors["key"].to_pylist(), errors["error"].to_pylist(), strict=True)) == {
        key: float(place >= 3) for place, key in enumerate(answers["key"].to_pylist())
    }
