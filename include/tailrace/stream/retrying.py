"""Retries of what a live stream reads or plans: its source or disk may be away, and come back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deltalake.exceptions import DeltaError

from tailrace.ground.errors import Busy, Refused, SourceChanged, Unfit
from tailrace.ground.retries import Retries
from tailrace.stream.failures import Failure
from tailrace.stream.status_reporter import StatusReporter

POLL_S = 0.2
"""Interval, in s, at which a live run that waits looks for a drain request, and for the end of a wait or a batch."""

SOURCE = "source"
"""Name under which the status reports that a stream's source can't be read."""

UNFIT_S = 60.0
"""Seconds after which a live run fails whose source has columns or types that don't fit: no retry puts it right."""

_DISK = "disk or network"


@contextmanager
def retried(retries: Retries, reporter: StatusReporter) -> Iterator[None]:
    """Report a failure of a live source or of the disk in the status, and go on; raise one that no retry can help.

    A source that is not fit may be put right for `UNFIT_S` seconds.
    """
    try:
        yield
    except (SourceChanged, Busy):
        raise
    except (Refused, OSError, DeltaError) as error:
        retries.fail()
        if not isinstance(error, Refused):
            reporter.report_problem(_DISK, Failure.of(error).reason)
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
            for part in (SOURCE, _DISK):
                reporter.report_problem(part, None)
        retries.succeed()
