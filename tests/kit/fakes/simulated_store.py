"""A conditional store in memory that loses requests and replies, delays writes, and lets others act meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.ground.files.object_path import Stored

OUTCOMES = ("done", "done", "done", "request lost", "reply lost", "delayed")


class SimulatedStore:
    """Objects by name, whose versions are numbers; writes are atomic.

    `before` is called before each request, and may act as anyone; `outcome` tells what becomes of a write.
    """

    def __init__(self, before: Callable[[], None] = lambda: None, outcome: Callable[[], str] = lambda: "done") -> None:
        self.objects: dict[str, Stored] = {}
        self.before, self.outcome = before, outcome
        self._delayed: list[Callable[[], bool]] = []
        self._writes = 0

    def get(self, name: str) -> Stored | None:
        self.before()
        return self.objects.get(name)

    def create(self, name: str, content: bytes) -> bool:
        return self._request(lambda: name not in self.objects and self._write(name, content))

    def replace(self, name: str, content: bytes, version: str) -> bool:
        def write() -> bool:
            there = self.objects.get(name)
            return there is not None and there.version == version and self._write(name, content)

        return self._request(write)

    def arrive(self) -> None:
        """Let the delayed writes arrive."""
        delayed, self._delayed = self._delayed, []
        for write in delayed:
            write()

    def _request(self, write: Callable[[], bool]) -> bool:
        self.before()
        outcome = self.outcome()
        if outcome == "delayed":
            self._delayed.append(write)
        result = write() if outcome in ("done", "reply lost") else False
        if outcome != "done":
            raise OSError(f"the store is away: {outcome}")
        return result

    def _write(self, name: str, content: bytes) -> bool:
        self._writes += 1
        self.objects[name] = Stored(content, str(self._writes))
        return True
