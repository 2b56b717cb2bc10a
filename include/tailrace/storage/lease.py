"""A lease with an epoch, which makes one of several drivers on different machines the writer.

An object holds the lease. Each acquisition replaces it under a condition and raises the epoch, so no two holders have
the same one. Clocks of machines are not compared. A driver that wants the lease waits until it has seen the same
version for the whole term; a holder trusts it for a part of the term after it last *began* to renew it. The lease
prevents drivers from working side by side. The journal prevents a suspended holder from deciding anything, as only one
driver can append the entry with a given number.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

from tailrace.ground.files.object_path import Stored
from tailrace.storage.conditional_store import ConditionalStore

TERM_S = 30.0
_TRUSTED = 0.8  # part of the term; the rest covers clocks that run at different rates


def seconds_since_boot() -> float:
    """Read a clock that continues while the machine is suspended, if there is one: a lease runs out meanwhile."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class LeaseLostError(Exception):
    """Raised when another driver has the lease, with a greater epoch."""


class Lease:
    """The lease of one driver.

    Attributes
    ----------
    epoch : int
        The epoch of the last acquisition, from 1; 0 before any.
    term_s : float
        The seconds without a renewal after which another driver may acquire it.
    """

    def __init__(
        self,
        store: ConditionalStore,
        machine: str,
        term_s: float = TERM_S,
        clock: Callable[[], float] = seconds_since_boot,
        name: str = "stream",
    ) -> None:
        """Create the lease; `clock` is monotonic, in seconds. All drivers of a store need the same term.

        `name`: the name of the object in the store.

        `machine`: a file lock decides within a machine, so a lease held by the same machine is not waited for.
        """
        self.epoch = 0
        self.term_s = term_s
        self._store, self._machine, self._clock, self._name = store, machine, clock, name
        self._holder, self._beat = uuid.uuid4().hex, 0
        self._version: str | None = None  # while it is held, as far as this driver knows
        self._trusted_until_s = 0.0
        self._seen: tuple[str, float] | None = None  # another driver's version, and the time at which it was first seen

    @property
    def is_held(self) -> bool:
        """Whether this driver may work, because no other one can have acquired the lease yet."""
        return self._version is not None and self._clock() < self._trusted_until_s

    def acquire(self) -> bool:
        """Acquire the lease if it is free, or was not renewed for the term; call it until it is acquired.

        Raises
        ------
        OSError
            When the store fails. An acquisition that was written nevertheless runs out like a dead driver's lease.
        """
        self._version, began_s = None, self._clock()
        stored = self._store.get(self._name)
        if stored is not None and self._is_held_elsewhere(stored) and not self._has_run_out(stored):
            return False
        epoch = _read(stored)["epoch"] + 1 if stored else 1
        return self._write(epoch, stored.version if stored else None, began_s)

    def renew(self) -> None:
        """Renew the lease; call it several times a term.

        Raises
        ------
        LeaseLostError
            When another driver has acquired it.
        OSError
            When the store fails; the lease may be renewed later, while `is_held`.
        """
        if self._version is None:
            raise LeaseLostError(f"epoch {self.epoch} is over")
        began_s = self._clock()
        if self._write(self.epoch, self._version, began_s):
            return
        stored = self._store.get(self._name)  # a renewal that failed may have been written after all
        if stored is not None and self._is_own(stored) and self._write(self.epoch, stored.version, began_s):
            return
        self._version = None
        raise LeaseLostError(f"epoch {self.epoch} is over")

    def release(self) -> None:
        """Free the lease for the next driver, keeping its epoch. Do nothing where it is lost."""
        if self._version is not None:
            version, self._version = self._version, None
            self._store.replace(self._name, self._content(self.epoch, None), version)

    def _is_held_elsewhere(self, stored: Stored) -> bool:
        value = _read(stored)
        return value["holder"] is not None and value["machine"] != self._machine

    def _has_run_out(self, stored: Stored) -> bool:
        """Test whether this version has existed for the whole term since it was first seen."""
        now_s = self._clock()
        if self._seen is None or self._seen[0] != stored.version:
            self._seen = stored.version, now_s
        return now_s - self._seen[1] >= self.term_s

    def _write(self, epoch: int, version: str | None, began_s: float) -> bool:
        """Replace a version of the lease; return whether this driver has it then."""
        self._beat += 1
        content = self._content(epoch, self._holder)
        if version is None:
            self._store.create(self._name, content)
        else:
            self._store.replace(self._name, content, version)
        stored = self._store.get(self._name)  # the version; a client's second try is refused because of its first write
        if stored is None or stored.content != content:
            return False
        self.epoch, self._version, self._seen = epoch, stored.version, None
        self._trusted_until_s = began_s + _TRUSTED * self.term_s
        return True

    def _content(self, epoch: int, holder: str | None) -> bytes:
        """Return the lease as stored; `beat` changes the content with each renewal."""
        value = {"epoch": epoch, "holder": holder, "machine": self._machine, "beat": self._beat}
        return json.dumps(value).encode()

    def _is_own(self, stored: Stored) -> bool:
        value = _read(stored)
        return (value["holder"], value["epoch"]) == (self._holder, self.epoch)


def _read(stored: Stored) -> Any:
    return json.loads(stored.content)
