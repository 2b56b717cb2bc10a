"""A thread that reads a place all the time, and notes where an older version replaced a newer one."""

from __future__ import annotations

import threading
from typing import Any

from answer_place import AnswerPlace, Away

_PAUSE_S = 0.3


class PlaceWatch(threading.Thread):
    """Polls one place; a place that hangs keeps it waiting.

    Attributes
    ----------
    violations : list of str
        What the reader must not see, each once.
    origin_may_change : bool
        Whether the answers may come from other tables than before: while the query is rebuilt or restored.
    origins : list
        What the answers came from, one after the other.
    """

    def __init__(self, place: AnswerPlace) -> None:
        super().__init__(daemon=True)
        self.place = place
        self.violations: list[str] = []
        self.origin_may_change, self.origins = False, list[Any]()
        self._newest_ms, self._ended = 0, threading.Event()

    def run(self) -> None:
        while not self._ended.wait(_PAUSE_S):
            self.look()

    def stop(self) -> None:
        self._ended.set()
        self.join()

    def look(self) -> None:
        """Read the place once; not at all while it is away."""
        reader = self.place.reader
        reader.await_tables()  # whether they may come is decided below, for topics, too
        if self.origin_may_change:
            reader.forget_gone()
        try:
            reader.look()
            self._note_origin()
            self._newest_ms = self.place.newest_ms()
        except Away:
            return
        except Exception as error:  # an AssertionError, of the order of versions, or any that keeps people from reading
            if (text := f"{type(error).__name__}: {error}") not in self.violations:
                self.violations.append(text)

    def has(self, as_of_ms: int) -> bool:
        """True once a reader has seen all answers up to an `as_of`."""
        return self._newest_ms >= as_of_ms

    def _note_origin(self) -> None:
        origin = self.place.origin()
        if self.origins[-1:] == [origin] or (origin is None and not self.origins):
            return
        before, self.origins = self.origins[-1:], [*self.origins, origin]
        assert not before or self.origin_may_change, f"the answers came from {before[0]}, and now from {origin}"
