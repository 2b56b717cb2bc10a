"""Makes this process the only driver of a query: by a file lock on its machine, and by a lease among machines."""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.ground.errors import Busy, Problem
from tailrace.storage.conditional_store import DirectoryStore
from tailrace.storage.layout import Layout
from tailrace.storage.lease import TERM_S, Lease, LeaseLostError

LOST = 75
"""Exit code of a driver that has lost its lease: EX_TEMPFAIL."""

_POLL_S = 1.0
_RENEWALS = 6  # in a term
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@contextmanager
def only_driver(
    layout: Layout, machine: str | None = None, term_s: float = TERM_S, waits: bool = False
) -> Iterator[None]:
    """Hold a query's stream; the process ends at once if another machine's driver has taken it over meanwhile.

    Parameters
    ----------
    machine : str, optional
        Within it the file lock holds; by default what the kernel calls its current run. Another one's driver that
        died is waited for, for a term.
    waits : bool
        Whether it waits for a disk that is full or away, until a drain is requested; by default that is an error.

    Raises
    ------
    Busy
        When another process drives the query.
    """
    with layout.lock("stream"):
        (layout.home / "lease").mkdir(exist_ok=True)
        lease = Lease(DirectoryStore(layout.home / "lease"), machine or _machine(), term_s)
        _acquire(lease, layout, term_s, waits)
        released = threading.Event()
        renewal = threading.Thread(target=_renew, args=(lease, released, term_s / _RENEWALS), daemon=True)
        renewal.start()
        try:
            yield
        finally:
            released.set()
            renewal.join()
            try:
                lease.release()
            except OSError as error:
                print(f"lease: not released, so it runs out: {error}", file=sys.stderr, flush=True)


def _acquire(lease: Lease, layout: Layout, term_s: float, waits: bool) -> None:
    """Wait for the lease of a driver that is dead; one that lives renews it within a term."""
    until_s, told = time.monotonic() + 1.5 * term_s, False
    while not _acquired(lease, layout, min(_POLL_S, term_s / _RENEWALS), waits):
        if time.monotonic() > until_s:
            wrong = "a driver on another machine runs this query"
            raise Busy([Problem(str(layout.home), wrong, "to stop it, or to leave the query to it")])
        if not told:
            print(f"lease: another machine's driver has it; waiting up to {1.5 * term_s:.0f} s", file=sys.stderr)
            told = True
        time.sleep(min(_POLL_S, term_s / _RENEWALS))


def _acquired(lease: Lease, layout: Layout, poll_s: float, waits: bool) -> bool:
    """Ask for the lease, on a disk that fails again and again; returns whether it was given."""
    failed = False
    while True:
        try:
            return lease.acquire()
        except OSError as error:
            if not waits or layout.drain.exists():
                raise
            if not failed:
                print(f"lease: not acquired yet: {error}", file=sys.stderr, flush=True)
            failed = True
            time.sleep(poll_s)


def _renew(lease: Lease, released: threading.Event, every_s: float) -> None:
    """Renew the lease until it is released; end the process where it is lost: what it runs must not go on."""
    failed = False
    while not released.wait(every_s):
        try:
            lease.renew()
        except LeaseLostError as error:
            print(f"lease: {error}: a driver on another machine goes on with the stream", file=sys.stderr, flush=True)
            os._exit(LOST)
        except OSError as error:  # the disk is away; nothing is written without it, and another one needs it as well
            if not failed:
                print(f"lease: not renewed yet: {error}", file=sys.stderr, flush=True)
            failed = True
        else:
            failed = False


def _machine() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:  # not Linux
        return f"{platform.node()}-{uuid.getnode():x}"
