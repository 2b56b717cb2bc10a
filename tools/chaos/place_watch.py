"""A thread that reads a place all the time, and notes where an older version replaced a newer one."""

from __future__ import annotations

import threading

from answer_place import AnswerPlace, Away

_PAUSE_S = 0.3


class PlaceWatch(threading.Thread):
    """Polls one place; a place that hangs keeps it waiting.

    Attributes
    ----------
    violations : list of str
        What the reader must not see, each once.
    """

    def __init__(self, place: AnswerPlace) -> None:
        super().__init__(daemon=True)
        self.place = place
        self.violations: list[str] = []
        self._newest_ms, self._ended = 0, threading.Event()

    def run(self) -> None:
        while not self._ended.wait(_PAUSE_S):
            self.look()

    def stop(self) -> None:
        self._ended.set()
        self.join()

    def look(self) -> None:
        """Read the place once; not at all while it is away."""
        try:
            self.place.reader.look()
            self._newest_ms = self.place.newest_ms()
        except Away:
            return
        except Exception as error:  # an AssertionError, of the order of versions, or any that keeps people from reading
            if (text := f"{type(error).__name__}: {error}") not in self.violations:
                self.violations.append(text)

    def has(self, as_of_ms: int) -> bool:
        """True once a reader has seen all answers up to an `as_of`."""
        return self._newest_ms >= as_of_ms
