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
