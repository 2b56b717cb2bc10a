"""Holds a lease during a block: acquires it, renews it meanwhile, and releases it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tailrace.ground.errors import Busy, InUse, Problem
from tailrace.storage.lease import Lease, LeaseLostError

T = TypeVar("T")

POLL_S = 1.0
_RENEWALS = 6  # renewals in a term
_PATIENCE = 1.5  # terms: within them a living process renews its lease, and a dead one's lease runs out

OnLoss = Callable[[LeaseLostError], None]

RequireHeld = Callable[[], None]
"""Called right before each write of the holder: raises `Busy` if the lock is lost, `OSError` if its store does not
answer.
"""


@contextmanager
def hold(
    lease: Lease,
    where: str,
    fault: str,
    wait_s: float | None,
    on_loss: OnLoss,
    tries_again: Callable[[], bool] = lambda: False,
) -> Iterator[RequireHeld]:
    """Hold a lease while the block runs.

    Parameters
    ----------
    where, fault : str
        The place and fault in the refusal where another process holds it.
    wait_s : float or None
        0: do not wait for another holder. Otherwise wait at least the time after which a dead one is recognised.
    on_loss : callable
        Called, in a thread, once another process has acquired the lease.
    tries_again : callable
        Whether to retry when the store fails; by default its error is raised.

    Raises
    ------
    Busy
        When another process still holds it after the wait.
    """
    _acquire(lease, where, fault, wait_s, tries_again)
    released, renewing = threading.Event(), threading.Lock()
    renewal = threading.Thread(target=_renew, args=(lease, renewing, released, on_loss), daemon=True)
    renewal.start()

    def require_held() -> None:
        with renewing:
            if lease.is_held:
                return
            try:
                lease.renew()  # perhaps nobody has acquired it, though it was not renewed for long
            except LeaseLostError as error:
                on_loss(error)
                raise Busy([Problem(where, fault, "to try again")]) from None

    try:
        yield require_held
    finally:
        released.set()
        renewal.join()
        try:
            lease.release()
        except OSError as error:
            print(f"lease: not released, so it runs out: {error}", file=sys.stderr, flush=True)


def _acquire(lease: Lease, where: str, fault: str, wait_s: float | None, tries_again: Callable[[], bool]) -> None:
    """Acquire a lease; wait for the lease of a dead process to run out."""
    least_s = 0.0 if wait_s == 0 else _PATIENCE * lease.term_s
    until_s, has_reported = 0.0, False
    while not retry_while_away(lease.acquire, tries_again):
        until_s = until_s or time.monotonic() + max(wait_s or 0.0, least_s)  # counted from the store's first answer
        if time.monotonic() >= until_s:
            raise InUse([Problem(where, fault, "to wait for it, or to stop it")])
        if not has_reported:
            left_s = until_s - time.monotonic()
            print(f"lease: another machine has it; waiting up to {left_s:.0f} s", file=sys.stderr, flush=True)
            has_reported = True
        time.sleep(min(POLL_S, lease.term_s / _RENEWALS))


def retry_while_away(ask: Callable[[], T], tries_again: Callable[[], bool]) -> T:
    """Repeat a request while its store is unavailable and `tries_again` holds.

    A store that denies access is available.
    """
    failed = False
    while True:
        try:
            return ask()
        except OSError as error:
            if isinstance(error, PermissionError) or not tries_again():
                raise
            if not failed:
                print(f"waiting for the warehouse: {error}", file=sys.stderr, flush=True)
            failed = True
            time.sleep(POLL_S)


def _renew(lease: Lease, renewing: threading.Lock, released: threading.Event, on_loss: OnLoss) -> None:
    """Renew a lease until it is released or lost."""
    failed = False
    while not released.wait(lease.term_s / _RENEWALS):
        try:
            with renewing:
                lease.renew()
        except LeaseLostError as error:
            on_loss(error)
            return
        except OSError as error:  # while the store is unavailable, nobody can write or take over the lease
            if not failed:
                print(f"lease: not renewed yet: {error}", file=sys.stderr, flush=True)
            failed = True
        else:
            failed = False
