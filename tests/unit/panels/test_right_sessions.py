"""The shares of right sessions, held against the sessions of all tuples by plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit.oracles.oracle import Settings, Tuple
from kit.oracles.session_oracle import Came, Session, sessions_of
from kit.runs.local_driver import correct_here
from kit.runs.panel_stream import FILES, PanelStream
from kit.runs.warehouse import EPOCH, even, make_stream, query_fields, write_files
from tailrace.correction.correction_range import CorrectionRange
from tailrace.panels.right_answers import Right, read_right
from tailrace.panels.uncorrected_answers import read_uncorrected
from tailrace.query.declared import declared_query

GAP = 120


class Stream(PanelStream):
    """A stream of sessions, with a condition of answers or without."""

    def right(self) -> Right:
        """Return the shares over all buckets there are."""
        right, note = read_right(self.view, self.view.tables.read("quality"))
        assert note is None
        return right

    def truth(self) -> dict[Session, int]:
        """Return the tuples of each session of all committed tuples that has closed."""
        until, frontier = (max(row[name] for row in self.rows("metrics")) for name in ("committed", "frontier"))
        came = [Came(each.key, each.event_time, 0) for each in self.tuples if each.arrival_time < until]
        return {session: len(held) for session, held in sessions_of(came, GAP).items() if session[2] <= frontier}


def _streamed(directory: Path, tuples: list[Tuple], **fields: object) -> Stream:
    declared = query_fields(directory / "in", Settings(GAP, GAP, 100, "count")) | {"window": {"session": f"{GAP} ms"}}
    stream = Stream(declared_query(declared | fields), directory / "wh", tuples)
    bounds = even(len(tuples), FILES)
    for first, part in ((0, bounds[:4]), (3, bounds[3:])):
        write_files(tuples, directory / "in", part, first=first)
        stream.driver.run(100)
        if not first:
            correct_here(stream.query, stream.warehouse)
    return stream


def _plain(stream: Stream, low: int, high: int) -> tuple[int, int, int]:
    """Return the numbers of sessions ever answered, of wrong ones among those in force, and of those without any."""
    truth, given = stream.truth(), {_session(row) for row in stream.view.answers.versions().to_pylist()}
    in_force = {_session(row): row["tuples"] for row in stream.view.answers.latest().to_pylist()}
    wrong = {session for session, tuples in in_force.items() if truth.get(session) != tuples}
    alone = {
        (key, first, end)
        for key, first, end in truth
        if not any(key == other and first <= start <= end for other, start, _ in given)
    }
    return tuple(sum(low < end <= high for _, _, end in each) for each in (given, wrong, alone))


def _late_of(late: list[dict[str, Any]], answer: dict[str, Any]) -> int:
    """Return the number of late tuples that touch an answer, and that no correction of it has seen."""
    seen = answer["as_of"] if answer["corrected"] else 0
    return sum(
        row["tuples"]
        for row in late
        if row["key"] == answer["key"]
        and answer["window_start"] - GAP <= row["pane_start"] <= answer["window_end"]
        and row["arrived"] > seen
    )


def _session(row: dict[str, Any]) -> Session:
    return row["key"], row["window_start"], row["window_end"]


def _assert_right(stream: Stream) -> Right:
    right = stream.right()
    given, wrong, alone = _plain(stream, right.start, right.end)
    assert right.answers == given + alone
    assert right.corrected == pytest.approx((given - wrong) / (given + alone))
    truth, late_rows = stream.truth(), stream.rows("late")
    for row in stream.view.answers.with_coverage(stream.view.answers.latest()).to_pylist():
        late, is_right = _late_of(late_rows, row), truth.get(_session(row)) == row["tuples"]
        assert row["coverage"] == row["tuples"] / (row["tuples"] + late), row
        assert is_right or row["coverage"] < 1, row
    return right


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sessions_that_late_tuples_lengthen_or_begin_are_not_right_until_they_are_corrected(tmp_path, seed):
    stream = _streamed(tmp_path, make_stream(600, seed, keys=8))
    assert _assert_right(stream).corrected < 0.8
    correct_here(stream.query, stream.warehouse)
    again = _assert_right(stream)
    assert again.streamed < 0.5
    assert again.corrected > 0.99  # what an open session joins is wrong until that has closed


def test_a_withheld_session_that_is_corrected_lacks_nothing(tmp_path):
    having = {"aggregate": {"function": "count", "having": "value > 2"}}
    stream = _streamed(tmp_path, make_stream(600, 4, keys=8), **having)
    correct_here(stream.query, stream.warehouse)
    assert stream.right().corrected == 1


def test_a_late_tuple_deep_within_a_long_session_makes_it_wrong(tmp_path):
    steps = [*range(0, 5000, 100)]
    tuples = [Tuple(EPOCH + at, EPOCH + at, f"t{at}", "a", 1.0) for at in steps]
    tuples.append(Tuple(EPOCH + 9000, EPOCH + 9000, "end", "b", 1.0))
    tuples += [Tuple(EPOCH + 50, EPOCH + 9100, "deep", "a", 1.0), Tuple(EPOCH + 19000, EPOCH + 19000, "end2", "b", 1.0)]
    stream = Stream(
        declared_query(
            query_fields(tmp_path / "in", Settings(GAP, GAP, 100, "count")) | {"window": {"session": f"{GAP} ms"}}
        ),
        tmp_path / "wh",
        tuples,
    )
    write_files(tuples, tmp_path / "in", [0, len(tuples) - 2])
    stream.driver.run(100)
    correct_here(stream.query, stream.warehouse)
    write_files(tuples, tmp_path / "in", [len(tuples) - 2, len(tuples)], first=1)
    stream.driver.run(100)
    assert read_uncorrected(stream.view, EPOCH + 4900, EPOCH + 9000).to_pylist() == [
        {"key": "a", "window_start": EPOCH, "window_end": EPOCH + 4900 + GAP}
    ]
    correct_here(stream.query, stream.warehouse, CorrectionRange())
    assert read_uncorrected(stream.view, EPOCH + 4900, EPOCH + 9000) is None
