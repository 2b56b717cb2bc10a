"""The last lines of the command `run`."""

from __future__ import annotations

import pyarrow as pa
import pytest

import tailrace
from tailrace.api import run as ended
from tailrace.stream.run_summary import RunSummary


def summary_of(accepted: int) -> RunSummary:
    summary = RunSummary()
    metrics = pa.table(
        {"late": [0], "repeats": [0], "answers": [0], "coverage": [1.0], "k_ms": [0], "counts": pa.nulls(1)}
    )
    counts = {"rows": [3], "accepted": [accepted], "filtered": [0], "unmatched": [0]}
    segments = pa.table(counts | {"stream": ["rows"], "position": [0], "floored": [None]})
    summary(0, 0, {"metrics": metrics, "segments": segments})
    return summary


ROWS = tailrace.Stream({"at": [0] * 3, "id": [1, 2, 3]}, event_time="at", id="id")
FIELDS = {"streams": {"rows": ROWS}, "window": "5 s", "aggregate": {"function": "count"}}


class Ended(ended.Run):
    """A run without a stream, of which only the summary is looked at."""

    has_begun = True


@pytest.mark.parametrize(
    ("has_late_tuples", "held", "lines"), [(True, 2, 2), (True, 1, 2), (True, 0, 1), (False, 3, 1)]
)
def test_rows_that_an_open_tick_holds_back_are_reported(monkeypatch, has_late_tuples, held, lines):
    monkeypatch.setattr(ended, "held_back", lambda layout: held)
    declared = tailrace.query("aggregate", **FIELDS).declared
    monkeypatch.setattr(type(declared), "has_late_tuples", has_late_tuples)
    said = Ended(declared, batches=1, summary=summary_of(3)).lines()
    assert len(said) == lines
    assert said[0] == "read 3 records: 3 accepted, 0 rejected"
    ends = "in an open tick: the tick ends when later records come, or at the end of a run without keep_open"
    assert said[1:] == [f"{'1 row waits' if held == 1 else '2 rows wait'} {ends}"][: lines - 1]


def test_the_end_of_the_run_before_is_the_cause_of_what_it_made_late(tmp_path):
    def lines(*records: tuple[str, str]) -> str:
        at, came = ([f"2024-05-01T00:{time}Z" for time in times] for times in zip(*records, strict=True))
        rows = tailrace.Stream({"at": at, "came": came, "id": came}, "at", arrival_time="came", id="id")
        fields = {"name": "ends", "window": "1 min", "aggregate": {"function": "count"}, "warehouse": tmp_path}
        return "\n".join(tailrace.query("aggregate", streams={"rows": rows}, **fields).run().lines())

    assert "came late" not in lines(("02:05", "02:06"))
    ended = lines(("02:10", "05:00"))  # newer than all before
    assert "the end of the run before had closed the windows of most; a run with --keep-open leaves them open" in ended
    assert "A larger k" not in ended
    assert "A larger k waits for them" in lines(("10:00", "10:01"), ("05:00", "11:00"), ("05:01", "12:00"))


def test_the_end_of_the_run_before_is_the_cause_in_a_window_join_too(tmp_path):
    def lines(*records: tuple[str, str]) -> str:
        at, came = ([f"2024-05-01T08:{time}Z" for time in times] for times in zip(*records, strict=True))
        columns = {"at": at, "came": came, "id": came, "x": [1.0] * len(at), "y": [1.0] * len(at)}
        rows = {side: tailrace.Stream(columns, "at", arrival_time="came", id="id") for side in ("left", "right")}
        point = {"x": "x", "y": "y"}
        join = {
            "join": "window",
            "relation": "dwithin",
            "distance": "1 km",
            "geometry": {"left": point, "right": point},
        }
        fields = {
            "name": "pairs",
            "window": {"size": "1 h", "slide": "1 h"},
            "spatial_join": join,
            "warehouse": tmp_path,
        }
        return "\n".join(
            tailrace.query("spatial_join", streams=rows, disorder={"policy": "k_slack", "k": "0 s"}, **fields)
            .run()
            .lines()
        )

    lines(("10:00", "10:01"), ("30:00", "30:01"))
    ended = lines(("21:00", "31:00"), ("22:00", "31:01"))
    assert "the end of the run before had closed the windows of most" in ended
    assert "A larger k" not in ended


def test_the_end_of_the_run_before_is_no_cause_of_what_was_late_without_it(tmp_path):
    def lines(days: list[int], disorder: dict[str, object]) -> str:
        at = [f"2024-05-{day:02}T00:00:00Z" for day in days]
        came = [f"2024-06-01T00:00:{len(days):02}Z"] * len(days)
        rows = tailrace.Stream({"at": at, "came": came, "id": at}, "at", arrival_time="came", id="id")
        fields = {"name": "days", "window": "1 d", "aggregate": {"function": "count"}, "warehouse": tmp_path}
        return "\n".join(tailrace.query("aggregate", streams={"rows": rows}, disorder=disorder, **fields).run().lines())

    k_slack = {"policy": "k_slack", "k": "1 h"}
    assert "came late" not in lines([20], k_slack)
    late = lines([3, 7, 12], k_slack)
    assert "the end of the run before" not in late
    assert "half of the late ones are 13 d or more behind the newest event time, and K is 1 h" in late


def test_a_correction_says_which_rankings_differ_only_in_their_number_of_tuples(tmp_path):
    at = [f"2024-05-01T00:{time}Z" for time in ("00:01", "00:02", "05:00", "06:00", "00:03", "05:01")]
    came = [f"2024-05-01T00:1{minute}:00Z" for minute in range(6)]
    rows = tailrace.Stream({"at": at, "came": came, "id": came, "x": [9, 8, 7, 6, 1, 10]}, "at", "came", "id")
    fields = {"window": "1 min", "topk": {"k": 2, "score": "x"}, "warehouse": tmp_path, "name": "best"}
    report = tailrace.query("topk", streams={"rows": rows}, **fields).run().correct()
    assert (report.changed, report.recounted) == (2, 1)
    assert "2 of 3 answers changed (1 only in the number of tuples), 0 taken back, 2 late tuples" in report.lines()[0]


def test_a_run_that_accepted_nothing_has_failed():
    declared = tailrace.query("aggregate", **FIELDS).declared
    Ended(declared, batches=1, summary=summary_of(1)).require_accepted()
    failed = Ended(declared, batches=1, summary=summary_of(0))
    with pytest.raises(
        tailrace.Failed, match="none of the records that were read was accepted\nread 3 records"
    ) as error:
        failed.require_accepted()
    assert error.value.run is failed


def test_a_run_that_accepted_nothing_ends_with_1(tailrace, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"at": "1999-01-01T00:00:00Z", "id": 1}\n' * 3)
    (tmp_path / "query.yaml").write_text(
        "{name: q, kind: aggregate, window: 5 s, aggregate: {function: count}, streams: {rows: "
        "{source: {format: json, path: rows.jsonl}, event_time: at, id: id}}}"
    )
    words = ("run", tmp_path / "query.yaml", "--warehouse", tmp_path / "wh", "--bounded", "--engine", "local")
    lines = tailrace(*words, code=1).stderr.splitlines()
    assert lines[-1] == "failed none of the records that were read was accepted"
    assert "read 3 records: 0 accepted, 3 rejected" in lines
