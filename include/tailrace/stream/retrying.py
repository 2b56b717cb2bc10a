"""Retries of a live stream's reading and planning, as its source or disk may be temporarily unavailable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deltalake.exceptions import DeltaError

from tailrace.ground.errors import Busy, Refused, SourceChanged, Unfit
from tailrace.ground.interruptions import raise_if_interrupted
from tailrace.ground.retries import Retries
from tailrace.storage.status import DISK, SOURCE
from tailrace.stream.failures import Failure
from tailrace.stream.status_reporter import StatusReporter

POLL_S = 0.2
"""Interval, in s, at which a waiting live run checks for a drain request, and for the end of a wait or a batch."""

UNFIT_S = 60.0
"""Seconds after which a live run fails if its source's columns or types don't fit, as no retry helps."""


@contextmanager
def retried(retries: Retries, reporter: StatusReporter) -> Iterator[None]:
    """Report a failure of a live source or of the disk in the status, and continue; raise one that no retry can solve.

    A source that does not fit may be corrected within `UNFIT_S` seconds.
    """
    try:
        yield
    except (SourceChanged, Busy):
        raise
    except (Refused, OSError, DeltaError) as error:
        raise_if_interrupted()  # an extension may have raised this error for it
        retries.fail()
        if not isinstance(error, Refused):
            reporter.report_problem(DISK, Failure.classify(error).reason)
        elif not isinstance(error, Unfit):
            reporter.report_problem(SOURCE, str(error))
        else:
            left_s = max(UNFIT_S - retries.failing_s, 0.0)
            reporter.report_problem(SOURCE, str(error), left_s)
            if not left_s:
                reporter.report("waiting")
                raise
    else:
        if retries.failures:
            for part in (SOURCE, DISK):
                reporter.report_problem(part, None)
        retries.succeed()
