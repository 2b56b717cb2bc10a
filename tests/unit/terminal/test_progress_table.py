"""Progress on the terminal: columns below their heads, as many as fit, and the batches of a stream."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from tailrace.terminal import stream_progress
from tailrace.terminal.stream_progress import ProgressPrinter, ProgressTable


def test_heads_are_printed_once_and_columns_keep_their_place():
    table = ProgressTable({"batch": 5, "rows": 9}, 80)
    assert table.lines({"batch": "0", "rows": "1,000"}) == ["batch       rows", "    0      1,000"]
    assert table.lines({"batch": "12", "rows": "7"}) == ["   12          7"]


def test_a_column_that_does_not_fit_is_left_out_and_a_narrower_one_behind_it_is_not():
    table = ProgressTable({"a": 4, "wide": 10, "b": 2}, 8)
    assert table.lines({"a": "1", "wide": "2", "b": "3"}) == ["   a   b", "   1   3"]


def metrics(**values) -> pa.Table:
    row = {"rows": 8_000_000, "answers": 1_234_567, "late": 123_456, "k_ms": 3_600_000, "coverage": 0.98765}
    row["t_max"] = datetime(2013, 1, 1, 17, 45, tzinfo=UTC)
    return pa.Table.from_pylist([row | values])


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_progress.err, "width", 80)


def test_the_batches_of_a_stream_fit_80_columns_whole(capsys):
    with ProgressPrinter() as progress:
        progress(9999, 0, {"metrics": metrics()})
        progress(10000, 0, {"metrics": metrics(t_max=None, coverage=None), "quarantine": pa.table({"reason": ["bad"]})})
    heads, first, second, quarantined = filter(None, capsys.readouterr().err.splitlines())
    assert max(map(len, (heads, first, second))) <= 80
    assert heads.split() == ["batch", "rows", "t_max", "K", "s", "coverage", "answers", "late"]
    assert first.split() == ["9999", "8,000,000", "2013-01-01", "17:45:00Z", "3600", "98.77%", "1,234,567", "123,456"]
    assert second.split() == ["10000", "8,000,000", "–", "3600", "–", "1,234,567", "123,456"]
    assert quarantined.strip() == "1 row quarantined"


def test_the_opening_lines_stand_once_above_the_first_batch(capsys):
    with ProgressPrinter(lambda: ["read as [UTC]"]) as progress:
        progress(0, 0, {"metrics": metrics()})
        progress(1, 0, {"metrics": metrics()})
    first, heads, *batches = filter(None, capsys.readouterr().err.splitlines())
    assert first == "read as [UTC]"
    assert heads.split()[0] == "batch"
    assert len(batches) == 2


@pytest.mark.parametrize(
    ("is_live", "rows_left", "state"),
    [(True, 0, "waiting; Ctrl-C stops"), (True, 5, "streaming"), (False, 0, "streaming")],
)
def test_a_terminal_shows_whether_a_live_run_waits(is_live, rows_left, state):
    progress = ProgressPrinter(is_live=is_live)
    progress(0, rows_left, {"metrics": metrics()})
    assert [task.description for task in progress._bar.tasks] == [state]
