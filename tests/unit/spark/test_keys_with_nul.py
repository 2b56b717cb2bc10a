"""Keys and ids that differ only in a NUL stay distinct in the stream, in corrections and in every reader."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kit.draws.aggregates import kind_of
from kit.oracles.oracle import Settings, Tuple, batch, distinct, stream
from kit.oracles.oracle_assertions import assert_close
from kit.oracles.rankings import contents, ranked, rankings_of, uses_of
from kit.runs.harness import raw_table
from kit.runs.local_driver import correct_here
from kit.runs.local_tables import stream_into_tables
from kit.runs.warehouse import EPOCH, even, make_stream
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import read_quality
from tailrace.storage.results import read_answers
from tailrace.topk.kind import TopK
from tailrace.windows.sliding import Sliding

pytestmark = pytest.mark.slow

KEYS = {"k0": "a", "k1": "a\0b", "k2": "a\0", "k3": "", "k4": "\0"}
SETTINGS = Settings(500, 100, 100, "sum", "none")


def with_nul(item):
    """The tuple with a key of `KEYS`, and with an id that equals another one but for a NUL."""
    number = int(item.id[1:])
    return item._replace(key=KEYS[item.key], id=f"t{number // 2}" + "\0" * (number % 2))


TUPLES = [with_nul(item) for item in make_stream(600, seed=3, duplicates=25)]


@pytest.fixture(scope="module", params=["sum", "median", "topk"])
def corrected_query(request, tmp_path_factory):
    """A query, its settings, and a warehouse after four corrections: two of arrival intervals, two of everything."""
    directory = tmp_path_factory.mktemp(request.param)
    topk = {"k": 2, "score": "value"} if request.param == "topk" else None
    settings = replace(SETTINGS, function="median" if topk else request.param)
    query = stream_into_tables(directory, settings, TUPLES, even(600, 6), topk=topk)
    last_as_of = stream(TUPLES, settings).as_of
    for interval in (
        CorrectionRange(EPOCH, EPOCH + 4_000, arrival=True),
        CorrectionRange(EPOCH + 4_000, last_as_of, arrival=True),
        CorrectionRange(),
        CorrectionRange(),
    ):
        correct_here(query, directory / "wh", interval)
    return query, settings, directory / "wh"


@pytest.mark.needs("long")
def test_each_window_is_answered_once_with_the_tuples_of_its_own_key(corrected_query):
    query, settings, warehouse = corrected_query
    answers, _ = read_answers(query, warehouse, streamed=False)
    rows = answers.to_pylist()
    truth = batch(TUPLES, settings)
    if query.kind == "topk":
        assert rankings_of(rows) == ranked(contents(distinct(TUPLES, settings.tick), settings), 2)
        rows = [row for row in rows if row["rank"] == 1]
    by_window = {(row["key"], row["window_start"], row["window_end"]): row for row in rows}
    assert len(by_window) == len(rows)
    assert by_window.keys() == truth.keys()
    assert {(row["tuples"], row["coverage"]) for row in rows} == {(expected.tuples, 1.0) for expected in truth.values()}
    for window, expected in truth.items():
        assert by_window[window]["tuples"] == expected.tuples
        if query.kind != "topk":
            assert_close(by_window[window]["value"], expected.value, expected.sum_abs)


def test_coverage_counts_the_late_tuples_of_its_own_key(corrected_query):
    query, settings, warehouse = corrected_query
    outcome = stream(TUPLES, settings)
    missed = dict.fromkeys(outcome.answers, 0)
    for late in outcome.late_tuples:
        for window in late.windows:
            missed[late.tuple.key, *window] = missed.get((late.tuple.key, *window), 0) + 1
    answers, _ = read_answers(query, warehouse, streamed=True)
    for row in answers.to_pylist():
        window = (row["key"], row["window_start"], row["window_end"])
        assert row["coverage"] == row["tuples"] / (row["tuples"] + missed[window])


def test_quality_counts_each_window_once(corrected_query):
    query, settings, warehouse = corrected_query
    outcome, truth = stream(TUPLES, settings), batch(TUPLES, settings)
    quality, _ = read_quality(query, warehouse)
    missing = len(truth.keys() - outcome.answers.keys())
    assert [pc.sum(quality[name]).as_py() for name in ("answers", "missing")] == [len(outcome.answers), missing]
    if query.kind != "topk":
        near = {
            window: abs(answer.value - truth[window].value) < 0.05 * abs(truth[window].value)
            for window, answer in outcome.answers.items()
        }
        assert pc.sum(quality["off"]).as_py() == missing + list(near.values()).count(False)


SUM = kind_of(Sliding(10, 10), "sum")
TOP = TopK(Sliding(10, 10), uses_of(), pa.string(), k=1, descending=True)


@pytest.mark.parametrize("kind", [SUM, TOP], ids=["sum", "topk"])
def test_errors_are_measured_over_answers_in_chunks(kind):
    tuples = [Tuple(0, 0, f"t{number}", key, 1.0) for number, key in enumerate(KEYS.values())]
    name = next(iter({**kind.inputs[0].values, **kind.inputs[0].carried}))
    content = raw_table(tuples).rename_columns({"value": name}).combine_chunks().to_batches()[0]
    answers = pa.Table.from_batches([kind.evaluate(content.slice(start, 2)) for start in (0, 2, 4)])
    errors = kind.errors(answers.slice(0, 3), answers)
    assert dict(zip(errors["key"].to_pylist(), errors["error"].to_pylist(), strict=True)) == {
        key: float(place >= 3) for place, key in enumerate(answers["key"].to_pylist())
    }
