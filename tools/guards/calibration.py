"""Guards of the room `calibration`."""

from __future__ import annotations

from guards.mutation import Mutation
from guards.shared_tests import WAREHOUSE

MUTATIONS = (
    Mutation(
        "t_max: a calibration counts event times as the stream does",
        "calibration/calibration_input.py",
        "self.reader.columns.counted_events(event, arrival)",
        "event",
        ("tests/unit/calibration/test_calibration_input.py",),
    ),
    Mutation(
        "bucket: a calibration whose lease is lost proposes nothing",
        "calibration/calibrate.py",
        "        require_held()\n",
        "",
        (WAREHOUSE,),
    ),
    Mutation(
        "calibration: the least accurate column of answers counts",
        "calibration/measure.py",
        "by_column.mean(axis=2).argmin(axis=1)",
        "by_column.mean(axis=2).argmax(axis=1)",
        ("tests/unit/calibration/test_columns.py",),
    ),
    Mutation(
        "standard error: few blocks spread less than many",
        "calibration/standard_error.py",
        "of_mean += common / n",
        "of_mean += 0 * common",
        ("tests/unit/calibration/test_standard_error.py",),
    ),
    Mutation(
        "standard error: blocks are longer than a window",
        "calibration/standard_error.py",
        "min(over + _LONGER, n // _BLOCKS)",
        "1",
        ("tests/unit/calibration/test_standard_error.py",),
    ),
)
