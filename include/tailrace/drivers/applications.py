"""The applications of a query's driver on a cluster platform: where they may run, and how they are ended.

The file `_stream/cluster.json` of a query's home holds the platform's address, the query's tag there, and the home. It
is written before the first submission, and kept: before each later start, a fence asks that platform. A copy of a
warehouse has the original's file, but does not end the original's applications.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from tailrace.drivers.cluster_platform import ClusterPlatform, PlatformDown
from tailrace.drivers.homes import resolved
from tailrace.drivers.kubernetes import Kubernetes
from tailrace.drivers.platform_http import Credentials
from tailrace.drivers.yarn import Yarn
from tailrace.ground.errors import Damaged, Problem
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.files.object_path import Location

_LOOK_AGAIN_S = 1.0


def platform_file(home: Path) -> Path:
    """Return the file that records where a home's driver may run besides this host."""
    return home / "_stream" / "cluster.json"


def tag_of(home: Path) -> str:
    """Return the tag of a home's applications. At first it is drawn at random, as two warehouses may share a platform.

    Raises
    ------
    Damaged
        When the file can't be read.
    """
    described = _described(home)
    return f"tailrace-{secrets.token_hex(16)}" if described is None else str(described["tag"])


def write_platform(home: Path, platform: ClusterPlatform) -> None:
    """Record that a home's driver may run there from now on."""
    file = platform_file(home)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, json.dumps({**platform.description(), "home": resolved(home)}))


def platform_of(home: Location) -> ClusterPlatform | None:
    """Return the platform where a home's driver may run, with its tag; None if it never ran on one.

    Raises
    ------
    Damaged
        When the file can't be read.
    """
    if not isinstance(home, Path):  # a driver in cluster mode needs a warehouse in a directory
        return None
    described = _described(home)
    if described is None:
        return None
    try:
        if described["platform"] == "yarn":
            return Yarn(described["tag"], tuple(described["addresses"]))
        credentials = Credentials(**described["credentials"])
        return Kubernetes(described["tag"], described["api"], described["namespace"], credentials)
    except (KeyError, TypeError) as error:
        raise _damaged(home, str(error)) from None


def end_applications(
    platform: ClusterPlatform,
    echo: Callable[[str], Any],
    wait_s: float | None = None,
    pause: Callable[[float], Any] = time.sleep,
) -> None:
    """End every application of a query, and wait until the platform reports that none is left.

    Parameters
    ----------
    echo : callable
        Called with a line for each new state of the awaited applications.
    wait_s : float, optional
        The most seconds to wait; by default until the platform answers and no application lives.

    Raises
    ------
    TimeoutError
        When it takes longer.
    Refused
        When the platform denies access.
    """
    shown, began_s = "", time.monotonic()
    for _ in _until(None if wait_s is None else began_s + wait_s):
        try:
            remaining = [one for one in platform.applications() if one.blocks]
            state = ", ".join(f"{one.id} ({one.detail})" for one in remaining)
            for application in remaining:
                platform.end(application)
        except PlatformDown as error:
            state = str(error)
        else:
            if not remaining:
                return
        if state != shown:
            echo(f"to be ended first: {state}")
            shown = state
        pause(_LOOK_AGAIN_S)
    raise TimeoutError(f"after {wait_s:g} s there may still be a driver on the platform: {shown}")


def _until(deadline_s: float | None) -> Iterator[int]:
    for number in count():
        yield number
        if deadline_s is not None and time.monotonic() >= deadline_s:
            return


def _described(home: Path) -> Mapping[str, Any] | None:
    """Read a home's platform file; None if there is none, or it is a copy from another home."""
    file = platform_file(home)
    if not os.path.exists(file):  # if access is denied, returns False without an error
        return None
    try:
        described = json.loads(file.read_text())
        described["tag"], described["platform"], described["home"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise _damaged(home, str(error)) from None
    assert isinstance(described, dict)
    return described if resolved(described["home"]) == resolved(home) else None


def _damaged(home: Path, fault: str) -> Damaged:
    remedy = "to make sure that no driver of the query runs on a cluster any more, and then to remove the file"
    return Damaged([Problem(str(platform_file(home)), f"it is damaged ({fault})", remedy)])
