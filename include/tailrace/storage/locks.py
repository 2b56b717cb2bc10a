"""Locks of a query's writers: a file among processes of a machine, and in a bucket also a lease among machines."""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path

from filelock import FileLock, Timeout

from tailrace.ground.errors import InUse, Problem
from tailrace.ground.files.object_path import Location, ObjectPath
from tailrace.storage.conditional_store import BucketStore, require_conditions
from tailrace.storage.holding import OnLoss, RequireHeld, hold, retry_while_away
from tailrace.storage.lease import TERM_S, Lease, LeaseLostError

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_ACTIVITIES = {
    "stream": "runs this query's driver",
    "correction": "corrects this query",
    "calibration": "calibrates this query",
    "deploy": "deploys a driver of this query",
    "watch": "claims this query's stream for its run",
    "alerts": "writes this query's alerts",
    "asking": "asks for a correction of this query",
    "current": "brings the table current up to date",
    "kafka": "sends this query's corrections to its topic",
    "postgres": "brings this query's table of PostgreSQL up to date",
    "vacuum": "reads this query's tables, or removes old files of theirs",
}
"""The writers of a query by the name of their lock: one process at a time may do this."""


@contextmanager
def writer_lock(home: Location, writer: str, wait_s: float | None = None) -> Iterator[RequireHeld]:
    """Hold the lock of a query's only writer; a process that dies releases it.

    Parameters
    ----------
    wait_s : float, optional
        Seconds to wait for another process that holds it. The default is just long enough to distinguish a living from
        a dead process; in a directory it is 0.

    Yields
    ------
    callable
        Call this before each write, see `holding.RequireHeld`.

    Raises
    ------
    Busy
        When another process still holds it after the wait.
    """
    if isinstance(home, Path):
        home.mkdir(parents=True, exist_ok=True)
        with _file_lock(home / f".{writer}.lock", str(home), writer, wait_s or 0):
            yield lambda: None
    else:
        with bucket_lock(home, writer, wait_s) as require_held:
            yield require_held


@contextmanager
def _file_lock(file: Path, where: str, writer: str, wait_s: float) -> Iterator[None]:
    """Hold a lock file; a process that dies releases it.

    Raises
    ------
    Busy
        When another process still holds it after `wait_s` seconds.
    """
    lock = FileLock(file)
    try:
        lock.acquire(timeout=wait_s)
    except Timeout:
        raise _busy(where, writer) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def bucket_lock(
    home: ObjectPath,
    writer: str,
    wait_s: float | None,
    on_loss: OnLoss | None = None,
    term_s: float = TERM_S,
    tries_again: Callable[[], bool] = lambda: False,
) -> Iterator[RequireHeld]:
    """Hold the lease of a writer below a prefix of an object store, and a lock file of this machine.

    The lock file saves a wait if the previous writer died on this machine. Processes count as on one machine only if
    they see the same file, by device and inode; containers may not.

    Parameters
    ----------
    wait_s, on_loss, tries_again
        See `holding.hold`.

    Raises
    ------
    Refused
        When the store does not honour the conditions of writes.
    Busy
        When another process holds it.
    """
    retry_while_away(partial(require_conditions, home), tries_again)
    where, directory = str(home), machine_directory("locks")
    file = directory / f"{sha256(f'{home}/{writer}'.encode()).hexdigest()[:32]}.lock"
    with _file_lock(file, where, writer, wait_s or 0):
        status = file.stat()
        lease = _lease(home, writer, f"{boot_id()}:{status.st_dev}:{status.st_ino}", term_s)
        with hold(lease, where, _busy_text(writer), wait_s, on_loss or _ignore, tries_again) as require_held:
            yield require_held


def machine_directory(name: str) -> Path:
    """Create a directory of this user on this machine, for files that no other machine needs."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(caches, "tailrace", name)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def boot_id() -> str:
    """Return the id of the kernel's current run, the same for all processes of a machine and different on others."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:  # not Linux
        return f"{platform.node()}-{uuid.getnode():x}"


@lru_cache(maxsize=64)
def _lease(home: ObjectPath, writer: str, machine: str, term_s: float) -> Lease:
    """Return this process's only lease object, which remembers when it first saw another holder's version."""
    return Lease(BucketStore(home / "lease"), machine, term_s, name=writer)


def _busy(where: str, writer: str) -> InUse:
    return InUse([Problem(where, _busy_text(writer), "to wait for it, or to stop it")])


def _busy_text(writer: str) -> str:
    return f"another process {_ACTIVITIES[writer]}"


def _ignore(error: LeaseLostError) -> None:
    """Ignore the loss: `require_held` reports it."""
