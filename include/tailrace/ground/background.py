"""A call in its own thread, which does not keep the process from ending."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """A running call. If its thread hangs, it is abandoned."""

    def __init__(self, call: Callable[[], T], name: str) -> None:
        """Start the call."""
        self._ended, self._values, self._error = Event(), list[T](), list[BaseException]()
        Thread(target=self._run, args=(call,), name=name, daemon=True).start()

    def _run(self, call: Callable[[], T]) -> None:
        try:
            self._values.append(call())
        except BaseException as error:
            self._error.append(error)
        finally:
            self._ended.set()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the call to end, at most `timeout_s` seconds; return whether it has ended."""
        return self._ended.wait(timeout_s)

    def result(self) -> T:
        """Return the result of a call that has ended, or raise its error."""
        for error in self._error:
            raise error
        return self._values[0]
