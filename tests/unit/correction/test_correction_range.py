"""Ranges of a correction: what a run over one covers."""

from __future__ import annotations

import pytest

from tailrace.correction.correction_range import CorrectionRange


@pytest.mark.parametrize(
    ("correction_range", "covered"),
    [
        (CorrectionRange(100, 200, arrival=True), (100, 200)),
        (CorrectionRange(100, 900, arrival=True), (100, 500)),  # more may come before 900: it is not corrected yet
        (CorrectionRange(), (None, 500)),
        (CorrectionRange(100, 200), (None, None)),
    ],
)
def test_late_rows_up_to_the_cut_off_are_corrected(
    correction_range: CorrectionRange, covered: tuple[int | None, int | None]
) -> None:
    assert correction_range.covered(500) == covered


def test_a_range_is_said_in_words():
    assert CorrectionRange().words == "all event times"
    assert CorrectionRange(start=0).words == "event times from 1970-01-01T00:00:00.000Z"
    assert CorrectionRange(end=0).words == "event times to 1970-01-01T00:00:00.000Z"
    words = "arrival times from 1970-01-01T00:00:00.000Z to 1970-01-01T00:00:01.000Z"
    assert CorrectionRange(0, 1000, arrival=True).words == words
