"""The table of measured errors: its buckets, what they count, and which of them a run measures."""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kit.draws.aggregates import kind_of
from kit.oracles.oracle import Settings, batch, stream
from kit.runs.local_tables import stream_into_tables
from kit.runs.warehouse import EPOCH, even, make_stream, tables_of
from tailrace.cli.commands import main
from tailrace.correction import quality
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import Promise, bucket_ms, measure, read_quality
from tailrace.spark.distributed_correction import correct
from tailrace.terminal import screen
from tailrace.windows.sliding import Sliding

pytestmark = pytest.mark.slow

KIND = kind_of(Sliding(100, 50), "sum")
COLUMNS = ["key", "window_end", "value", "k_ms", "as_of", "corrected", "retracted"]


@pytest.mark.parametrize(
    ("slide", "length"),
    [
        *((1, 10_000), (100, 10_000), (101, 60_000), (600, 60_000), (601, 600_000), (36_000, 3_600_000)),
        *((36_001, 86_400_000), (864_000, 86_400_000), (864_001, 2 * 86_400_000), (3_600_000, 5 * 86_400_000)),
    ],
)
def test_a_bucket_has_at_least_100_slides_and_a_length_that_people_use(slide, length):
    assert bucket_ms(slide) == length


def measured(*rows: tuple, error: float | None = 0.1, risk: float | None = 0.2) -> dict[int, SimpleNamespace]:
    given = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    more = [{"window_start": row["window_end"] - 100, "tuples": 1, "interval": None} for row in given]
    versions = pa.Table.from_pylist([a | b for a, b in zip(given, more, strict=True)])
    found = measure(KIND, versions, 1000, Promise(error, risk))
    return {row["bucket_start"]: SimpleNamespace(**row) for row in found.to_pylist()}


def test_errors_are_those_of_the_streamed_answers_against_the_latest_versions():
    found = measured(
        ("a", 1000, 9.0, 50, 1, False, False),  # in (0, 1000], and off by 10 %
        ("a", 1000, 5.0, None, 2, True, False),
        ("a", 1000, 10.0, None, 3, True, False),
        (None, 950, 0.5, 70, 1, False, False),  # of 0: absolute
        (None, 950, 0.0, None, 2, True, False),
        ("b", 900, 7.0, 90, 1, False, False),  # nobody has corrected it
        ("c", 1001, 3.0, 10, 1, False, False),  # taken back
        ("c", 1001, 3.0, None, 2, True, True),
        ("d", 1050, 4.0, None, 2, True, False),  # not answered
        ("e", 1050, 4.0, None, 2, True, False),  # not answered, and rightly so
        ("e", 1050, 4.0, None, 3, True, True),
        ("f", 1050, 100.0, 30, 1, False, False),  # worse than nothing
        ("f", 1050, 1.0, None, 2, True, False),
    )
    first, second = found[0], found[1000]
    assert (first.bucket_end, first.answers, first.corrected, first.missing, first.off) == (1000, 3, 2, 0, 2)
    assert (first.share, first.mean_k_ms) == pytest.approx((2 / 3, 70))
    assert (first.mean_error, first.worst_error) == pytest.approx((0.6 / 3, 0.5))
    assert (second.bucket_end, second.answers, second.corrected, second.missing, second.off) == (2000, 2, 2, 1, 3)
    assert (second.share, second.mean_error, second.worst_error, second.mean_k_ms) == (1.0, 1.0, 99.0, 20)
    assert (first.error, first.risk) == (0.1, 0.2)


def test_an_answer_that_was_given_again_as_it_was_is_not_corrected():
    found = measured(
        ("a", 1000, 9.0, 50, 1, False, False),
        ("a", 1000, 9.0, None, 2, True, False),  # the same again
        ("b", 1000, 9.0, 50, 1, False, False),
        ("b", 1000, 8.0, None, 2, True, False),
        ("b", 1000, 9.0, None, 3, True, False),  # the same again, after all
        ("c", 1000, 9.0, 50, 1, False, False),
        ("c", 1000, 8.0, None, 2, True, False),
        ("d", 1000, 9.0, 50, 1, False, False),
        ("d", 1000, 9.0, None, 2, True, True),  # taken back
    )
    assert (found[0].answers, found[0].corrected) == (4, 2)


def test_where_nothing_is_promised_5_percent_are_off():
    rows = [("a", 100, 9.5, 0, 1, False, False), ("a", 100, 10.0, 0, 2, True, False)]
    rows += [("b", 100, 9.6, 0, 1, False, False), ("b", 100, 10.0, 0, 2, True, False)]
    found = measured(*rows, error=None, risk=None)[0]
    assert (found.off, found.error, found.risk) == (1, None, None)
    assert measured(*rows, error=0.04)[0].off == 2


SETTINGS = Settings(500, 50, 100, "avg", "none")
TUPLES = make_stream(1500, seed=5, duplicates=20)


@pytest.fixture
def query(tmp_path):
    return stream_into_tables(tmp_path, SETTINGS, TUPLES, even(1500, 6), flush=False)


def expected() -> dict[int, tuple]:
    """By the oracle: windows, how many were not answered or are off, and the sum of what their errors count."""
    outcome, found = stream(TUPLES, SETTINGS, flush=False), defaultdict(lambda: (0, 0, 0, 0.0))
    truth = {w: true for w, true in batch(TUPLES, SETTINGS, outcome.as_of).items() if outcome.closed(w[2])}
    for window in truth.keys() | outcome.answers.keys():
        streamed, true = outcome.answers.get(window), truth.get(window)
        error = 1.0 if streamed is None or true is None else abs(streamed.value - true.value) / abs(true.value)
        bucket = math.ceil(window[2] / 10_000) * 10_000 - 10_000
        answers, missing, off, total = found[bucket]
        missing += streamed is None
        found[bucket] = (answers + (streamed is not None), missing, off + (error >= 0.05), total + min(error, 1))
    return found


def test_a_correction_of_all_measures_what_the_oracle_does(tmp_path, query):
    correct(query, tmp_path / "wh")
    rows, columns = read_quality(query, tmp_path / "wh")
    truth = expected()
    assert len(truth) > 2
    assert rows["bucket_start"].to_pylist() == sorted(truth)
    assert columns == rows.column_names
    for row in rows.to_pandas().itertuples():
        answers, missing, off, total = truth[row.bucket_start]
        assert (row.answers, row.missing, row.off) == (answers, missing, off)
        assert (row.share, row.mean_error) == pytest.approx((off / (answers + missing), total / (answers + missing)))


@pytest.mark.needs("long")
def test_intervals_come_to_the_same_table_and_measure_only_what_they_changed_or_is_new(tmp_path, monkeypatch):
    tuples = make_stream(1500, seed=5)  # without repeats, which intervals leave where nothing is late
    query = stream_into_tables(tmp_path, SETTINGS, tuples, even(1500, 6), flush=False)
    seen: list[set[int]] = []
    measures = quality.measure

    def spy(kind, versions, length_ms, promise):
        seen.append(set(((versions["window_end"].to_numpy() - 1) // length_ms * length_ms).tolist()))
        return measures(kind, versions, length_ms, promise)

    monkeypatch.setattr(quality, "measure", spy)
    monkeypatch.setattr(quality, "AT_ONCE", 1)
    outcome = stream(tuples, SETTINGS, flush=False)
    last = outcome.as_of
    middle = (EPOCH + last) // 200 * 100
    late, metrics = tables_of(tmp_path / "wh").read("late"), tables_of(tmp_path / "wh").read("metrics").to_pylist()
    intervals = [(EPOCH, middle), (middle, last)]
    for a, b in (*intervals, intervals[0]):
        seen.clear()
        known = pc.max(read_quality(query, tmp_path / "wh")[0]["bucket_start"]).as_py()
        correct(query, tmp_path / "wh", CorrectionRange(a, b, arrival=True))
        assert all(len(buckets) == 1 for buckets in seen)
        rows = late.filter((pc.field("arrived") > a) & (pc.field("arrived") <= b))
        touched = {start for _, start in missed_buckets(rows)}
        closed = max(row["frontier"] for row in metrics if row["committed"] <= b)  # the rest is not corrected yet
        newest = max((closed - 1) // 10_000 * 10_000, *touched)
        since = min(touched) if known is None else known
        assert set.union(*seen) == touched | {since} | set(range(since, newest + 1, 10_000))
    both, _ = read_quality(query, tmp_path / "wh")
    correct(query, tmp_path / "wh")
    whole, _ = read_quality(query, tmp_path / "wh")
    names = ["bucket_start", "answers", "missing", "off"]
    assert both.select(names).to_pylist() == whole.select(names).to_pylist()


def missed_buckets(late: pa.Table):
    windows = Sliding(SETTINGS.size, SETTINGS.slide)
    row, end = windows.ends(late["pane_start"].to_numpy(), None, late["frontier"].to_numpy())
    return zip(row, (end - 1) // 10_000 * 10_000, strict=True)


def test_a_run_without_late_tuples_before_any_measures_nothing(tmp_path, query):
    correct(query, tmp_path / "wh", CorrectionRange(EPOCH, EPOCH + 100, arrival=True))
    rows, columns = read_quality(query, tmp_path / "wh")
    assert (len(rows), rows.column_names) == (0, columns)


FILE = """
name: readings
kind: aggregate
streams:
  readings:
    {{source: {{format: parquet, path: {path}}}, event_time: event_time, arrival_time: arrival_time, id: id, key: key}}
window: {{size: 500 ms, slide: 50 ms}}
disorder: {{policy: none, tick: 100 ms}}
aggregate: {{function: avg, column: value}}
"""


@pytest.mark.needs("long")
@pytest.mark.parametrize("form", ["jsonl", "table"])
def test_the_command_shows_it(tmp_path, query, capsys, monkeypatch, form):
    correct(query, tmp_path / "wh")
    (tmp_path / "readings.yaml").write_text(FILE.format(path=tmp_path / "in"))
    command = ["tailrace", "quality", tmp_path / "readings.yaml", "--warehouse", tmp_path / "wh", "--format", form]
    monkeypatch.setattr(sys, "argv", [*map(str, command)])
    monkeypatch.setattr(screen.out, "width", 250)
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    lines = capsys.readouterr().out.splitlines()
    if form == "table":
        assert "2020-01-01T00:00:10.000Z" in lines[4]
        assert lines[4].count("–") == 3  # nothing is promised
    else:
        rows = [json.loads(line) for line in lines]
        assert [row["answers"] for row in rows] == [expected()[start][0] for start in sorted(expected())]
        assert (rows[1]["bucket_start"], rows[1]["error"]) == ("2020-01-01T00:00:10.000Z", None)
