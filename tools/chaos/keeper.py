"""A thread that starts services which have ended again, as `restart: unless-stopped` lets a container engine do."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

import psutil

from kit.parts.compose import Here, services

_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0


class Keeper(threading.Thread):
    """Keeps the services; one that ends again and again is started after growing pauses.

    Attributes
    ----------
    away : set of str
        The services that stay as they are.
    restarts : list of (float, str)
        The services that were started again, each with the time.
    """

    def __init__(self, here: Here) -> None:
        super().__init__(daemon=True)
        self.here = here
        self.away: set[str] = set()
        self.restarts: list[tuple[float, str]] = []
        self._due_s: dict[str, float] = {}
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(_PAUSE_S):
            for service, process in list(self.here.started.items()):
                kept = services()[service]["restart"] == "unless-stopped" and service not in self.away
                if kept and process.poll() is not None:
                    self._start_again(service, process.pid)

    def stop(self) -> None:
        self._ended.set()
        if self.is_alive():
            self.join()

    def _start_again(self, service: str, session: int) -> None:
        """Start a service again once its pause is over; nothing of the one before is left, as in a container."""
        now_s = time.monotonic()
        again = [at_s for at_s, name in self.restarts if name == service and now_s - at_s < _LONGEST_PAUSE_S]
        if now_s < self._due_s.setdefault(service, now_s + min(2 ** len(again), _LONGEST_PAUSE_S)):
            return
        del self._due_s[service]
        for process in psutil.process_iter():
            with suppress(psutil.Error, ProcessLookupError):
                if os.getsid(process.pid) == session:
                    process.kill()
        self.here.start(service)
        self.restarts.append((now_s, service))
