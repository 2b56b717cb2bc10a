"""Ends the process of a command; every command ends here.

Threads of other languages, Arrow's and Delta's, may still be calling into Python when a command is done. Python's
finalisation ends such a thread by an unwind that C++ forbids, and the process aborts: exit code 134, its output whole.
So a command does what a normal exit does before that, and leaves without finalising the interpreter.
"""

from __future__ import annotations

import atexit
import os
import select
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

CLOSED_PIPE = 141
"""Exit code where nobody reads the output any more: what a shell says of a program that SIGPIPE ends."""

_STDOUT, _STDERR = 1, 2


def leave(code: int, waits: bool = True) -> NoReturn:
    """End the process with an exit code.

    Parameters
    ----------
    waits : bool
        Whether Python's own threads are joined and the functions of `atexit` called, as at a normal exit; a command
        that was interrupted waits for nobody.
    """
    try:
        if waits:
            join_threads: Any = threading._shutdown  # type: ignore[attr-defined]
            join_threads()  # also ends the pools of `concurrent.futures`
            atexit._run_exitfuncs()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # a pipe that nobody reads; closed; none
                stream.flush()
        os._exit(code)


@contextmanager
def outputs() -> Iterator[list[int]]:
    """Yield copies of the descriptors of stdout and stderr: rich puts /dev/null in the place of a closed pipe."""
    copies: list[int] = []
    for descriptor in (_STDOUT, _STDERR):
        with suppress(OSError):  # it is not open
            copies.append(os.dup(descriptor))
    try:
        yield copies
    finally:
        for copy in copies:
            os.close(copy)


def is_output_closed(descriptors: Sequence[int]) -> bool:
    """Test whether one of these is a pipe that nobody reads any more, as after `| head`."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))
