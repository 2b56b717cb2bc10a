"""The last lines of the command `run`."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest
import typer

from tailrace.cli import run_report
from tailrace.stream.run_summary import RunSummary


def summary_of(accepted: int) -> RunSummary:
    summary = RunSummary()
    metrics = pa.table({"late": [0], "coverage": [1.0], "k_ms": [0], "counts": pa.nulls(1)})
    summary(0, 0, {"metrics": metrics, "segments": pa.table({"rows": [3], "accepted": [accepted], "filtered": [0]})})
    return summary


@pytest.mark.parametrize(("has_late_tuples", "held", "lines"), [(True, 2, 2), (True, 0, 1), (False, 3, 1)])
def test_rows_that_an_open_tick_holds_back_are_reported(monkeypatch, capsys, has_late_tuples, held, lines):
    monkeypatch.setattr(run_report, "held_back", lambda layout: held)
    run_report.print_summary(summary_of(3), SimpleNamespace(has_late_tuples=has_late_tuples), None)
    printed = capsys.readouterr().err.splitlines()
    assert len(printed) == lines
    assert printed[0] == "read 3 records: 3 accepted, 0 rejected"
    assert (
        printed[1:]
        == ["2 rows wait in an open tick: it is complete when more comes, or at the end of a run without --keep-open"][
            : lines - 1
        ]
    )


def test_a_run_that_accepted_nothing_ends_with_1(capsys):
    run_report.fail_if_none_was_accepted(summary_of(1))
    with pytest.raises(typer.Exit) as ended:
        run_report.fail_if_none_was_accepted(summary_of(0))
    assert ended.value.exit_code == 1
    assert "none of the records that were read was accepted" in capsys.readouterr().err
