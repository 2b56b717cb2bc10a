"""The last lines of a run: what was rejected and why, and where a low coverage is likely to come from."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from tailrace.stream.run_summary import RunSummary, all_of

HOUR = 3_600_000
NOW = 1_767_268_800_000
METRICS = {"late": 0, "repeats": 0, "answers": 0, "coverage": 1.0, "k_ms": 2_000, "newest_event": NOW, "reached": [NOW]}
TIME, COUNTS = pa.timestamp("ms", "UTC"), pa.map_(pa.string(), pa.int64())


def quarantine(*reasons: str) -> pa.Table:
    rows = [
        {"reason": reason, "position": f"/in/a.json#{n}", "record": f'{{"v":\n "{n}"}}'}
        for n, reason in enumerate(reasons)
    ]
    return pa.Table.from_pylist(rows)


def summary_of(
    accepted: int,
    *reasons: str,
    filtered: int = 0,
    unmatched: int = 0,
    delays: list[int] | None = None,
    **metrics: object,
) -> RunSummary:
    """The summary of a run of one batch; `delays` are those of late tuples behind t_max, ms."""
    summary, late, counts = RunSummary(), delays or [], metrics.pop("counts", None)
    read = accepted + filtered + len(reasons)
    newest = metrics.pop("newest_event", NOW)
    row = METRICS | {"late": len(late), "newest_event": datetime.fromtimestamp(newest / 1000, UTC)} | metrics
    written = {
        "metrics": pa.Table.from_pylist([row]).append_column("counts", pa.array([counts], COUNTS)),
        "segments": pa.table(
            {"rows": [read], "accepted": [accepted], "filtered": [filtered], "unmatched": [unmatched]}
            | {"stream": ["s"], "position": [0], "floored": [None]}
        ),
        "late": pa.table(
            {
                "frontier": pa.array([NOW - 2_000] * len(late), TIME),
                "pane_start": pa.array([NOW - delay for delay in late], TIME),
            }
        ),
    }
    if reasons:
        written["quarantine"] = quarantine(*reasons)
    summary(0, 0, written)
    return summary


def test_a_run_says_what_it_rejected_by_reason_with_an_example():
    first, *lines = summary_of(5, "v is NaN", "v is no number: 'x'", "v is no number: 'y'").lines()
    assert first == "read 8 records: 5 accepted, 3 rejected"
    assert lines == [
        '  2 × v is no number, as a.json, line 2: {"v": "1"}',
        '  1 × v is NaN, as a.json, line 1: {"v": "0"}',
    ]


def test_records_without_a_row_of_a_lookup_have_a_word_of_their_own():
    (line,) = summary_of(5, filtered=3, unmatched=2).lines()
    assert line == "read 8 records: 5 accepted, 1 filtered, 2 without a row of a lookup, 0 rejected"
    first, _ = summary_of(0, filtered=3, unmatched=3).lines()
    assert first == "no record is a tuple: none of them meets a row of a lookup"


def test_a_run_that_read_nothing_says_nothing():
    assert not [*RunSummary().lines()]
    assert not RunSummary().failed


@pytest.mark.parametrize(
    ("accepted", "rejected", "failed"), [(0, 3, True), (1, 3, False), (3, 0, False), (0, 0, False)]
)
def test_a_run_that_accepted_none_of_its_records_has_failed(accepted, rejected, failed):
    assert summary_of(accepted, *["v is NaN"] * rejected).failed is failed
    assert summary_of(accepted, *["v is NaN"] * rejected, filtered=5).failed is failed


def test_a_run_whose_records_are_all_filtered_has_not_failed_and_says_so_first():
    summary = summary_of(0, filtered=7)
    assert not summary.failed
    assert [*summary.lines()] == [
        "warning: no record is a tuple: where is false or null for all of them; explain FILE --sample shows what where "
        "compares",
        "read 7 records: 0 accepted, 7 filtered, 0 rejected",
    ]


def test_a_where_that_leaves_out_each_record_that_fits_is_a_warning():
    (line,) = [line for line in summary_of(0, "v is NaN", filtered=7).lines() if "where" in line]
    assert line.startswith("warning: where of stream s is false or null for each record that fits: 7 of 8, 1 rejected")
    assert "where" not in "".join(summary_of(1, "v is NaN", filtered=7).lines())
    assert "where" not in "".join(summary_of(0, "v is NaN", filtered=7, unmatched=7).lines())


def test_most_records_rejected_is_a_warning():
    assert "warning: 75% of the records were rejected" in "".join(summary_of(1, *["v is NaN"] * 3).lines())
    assert "warning" not in "".join(summary_of(3, "v is NaN").lines())


@pytest.mark.parametrize(
    ("delays", "cause"),
    [
        (
            [8 * HOUR + n * 1000 for n in range(10)],
            "8 h or more behind the newest event time, and most as far: are their",
        ),
        ([5_000 * n for n in range(1, 10)], "25 s or more behind the newest event time, and K is 2 s. A larger k"),
        ([HOUR * n for n in range(1, 10)], "5 h or more behind the newest event time, and K is 2 s. A larger k"),
    ],
)
def test_a_low_coverage_is_a_warning_with_its_likely_cause(delays, cause):
    (line,) = [line for line in summary_of(12, delays=delays, coverage=0.07).lines() if "warning" in line]
    assert line.startswith("warning: ")
    assert "coverage is 7.00%" in line
    assert cause in line


def test_a_low_coverage_without_a_late_tuple_is_that_of_earlier_runs():
    assert "earlier runs wrote them" in "".join(summary_of(10, coverage=0.1).lines())


def test_a_usual_coverage_is_no_warning():
    assert "warning" not in "".join(summary_of(10, delays=[3_000] * 4, coverage=0.7).lines())


def test_event_times_hours_ahead_of_arrival_are_a_warning():
    line = "".join(summary_of(10, newest_event=NOW + 8 * HOUR).lines())
    assert "warning: event times are up to 8 h ahead of arrival (2026-01-01T20:00:00.000Z): are they of another" in line
    assert "warning" not in "".join(summary_of(10, newest_event=NOW + HOUR // 3).lines())


def test_callbacks_are_called_in_turn():
    calls = []
    all_of(lambda *arguments: calls.append(("a", arguments)), lambda *arguments: calls.append(("b", arguments)))(
        1, 2, {}
    )
    assert calls == [("a", (1, 2, {})), ("b", (1, 2, {}))]


def test_pairs_for_which_a_condition_failed_are_a_warning_with_a_reason():
    summary = summary_of(5, counts=[("where_failed", 2), ("where_failed: division by zero", 2), ("centroid", 9)])
    (line,) = [line for line in summary.lines() if line.startswith("warning")]
    assert "failed for 2 pairs, which are not answered, as by division by zero: try_divide" in line
    assert summary.failed_pairs.number == 2


def test_sums_that_left_their_type_are_no_silent_nulls():
    summary = summary_of(5, counts=[("overflowed", 2)])
    (line,) = [line for line in summary.lines() if line.startswith("warning")]
    assert line.startswith("warning: 2 sums or lists left the type or the limit of the answers, which are null")
    assert not [line for line in summary_of(5).lines() if line.startswith("warning")]
