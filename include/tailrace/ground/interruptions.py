"""Records that a signal has asked this process to end, for loops that continue after errors.

An extension that calls Python, such as deltalake or PyArrow, may turn a KeyboardInterrupt into its own error. A loop
that retries after errors would then never end.
"""

from __future__ import annotations

from threading import Event

_asked = Event()


def note_interruption() -> None:
    """Note that a signal has asked the process to end; a signal handler calls it."""
    _asked.set()


def forget_interruptions() -> None:
    """Forget a noted interruption."""
    _asked.clear()


def is_interruption(error: BaseException) -> bool:
    """Test whether an error is an interruption, or the form that an extension has given to one."""
    return isinstance(error, KeyboardInterrupt) or _asked.is_set()


def raise_if_interrupted() -> None:
    """Raise the interruption that was noted, if there is one.

    Raises
    ------
    KeyboardInterrupt
    """
    if _asked.is_set():
        raise KeyboardInterrupt
