"""Makes this process the only driver of a query, by a file lock on its machine and a lease among machines."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.storage.conditional_store import DirectoryStore
from tailrace.storage.holding import RequireHeld, hold
from tailrace.storage.layout import Layout
from tailrace.storage.lease import TERM_S, Lease, LeaseLostError
from tailrace.storage.locks import boot_id, bucket_lock

LOST = 75
"""Exit code of a driver that has lost its lease: EX_TEMPFAIL."""

_ELSEWHERE = "a driver on another machine runs this query"


@contextmanager
def only_driver(
    layout: Layout, machine: str | None = None, term_s: float = TERM_S, waits: bool = False
) -> Iterator[RequireHeld]:
    """Hold a query's stream; end the process at once if another machine's driver takes it over.

    Parameters
    ----------
    machine : str, optional
        The id of the machine, within which the file lock works; by default the id of the kernel's current run. After a
        driver of another machine has died, this waits for a term.
    waits : bool
        Whether to wait for a full disk, or an unavailable disk or store, until a drain is requested; by default that is
        an error.

    Yields
    ------
    callable
        Call this before each write, see `holding.RequireHeld`.

    Raises
    ------
    Busy
        When another process drives the query.
    """

    def tries_again() -> bool:
        try:
            return waits and not layout.drain.exists()
        except OSError:  # a drain request could not be seen, either
            return True

    if not isinstance(layout.home, Path):
        with bucket_lock(layout.home, "stream", None, _end, term_s, tries_again) as require_held:
            yield require_held
        return
    with layout.lock("stream"):
        (layout.home / "lease").mkdir(exist_ok=True)
        lease = Lease(DirectoryStore(layout.home / "lease"), machine or boot_id(), term_s)
        with hold(lease, str(layout.home), _ELSEWHERE, None, _end, tries_again) as require_held:
            yield require_held


def _end(error: LeaseLostError) -> None:
    """End the process, whose work must not go on."""
    print(f"lease: {error}: a driver on another machine goes on with the stream", file=sys.stderr, flush=True)
    os._exit(LOST)
