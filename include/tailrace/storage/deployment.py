"""The record of a driver's deployment in the query's home, and the wait for it while the warehouse is unavailable."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

from tailrace.ground.files.object_path import Location
from tailrace.ground.retries import pause_s
from tailrace.storage.holding import retry_while_away

T = TypeVar("T")

DEPLOYMENT = "TAILRACE_DEPLOYMENT"
"""Environment variable with the name of the deployment that created a driver, as its host recorded it."""


def deployment_file(home: Location) -> Location:
    """Return the file with the name of the last deployment, which is written before a driver is created."""
    return home / "_stream" / "deployment"


def await_deployment(home: Location, read: Callable[[], T | None], sleep: Callable[[float], object] = time.sleep) -> T:
    """Return the record of a driver's deployment, as soon as `read` finds it.

    Until then the driver's warehouse is unavailable, such as a disk that is not mounted. The driver waits with growing
    pauses: on an empty mount point it would begin again, from the start of the source.
    """
    tries = 0
    while (deployment := retry_while_away(read, lambda: True)) is None:
        if not tries:
            away = f"no deployment of {home.name} is on record in {home}, as on a disk that is not mounted"
            anew = f"to begin again: tailrace stop {home.name}, and deploy it again"
            print(f"waiting for the warehouse: {away}; {anew}", file=sys.stderr, flush=True)
        tries += 1
        sleep(pause_s(tries))
    return deployment
