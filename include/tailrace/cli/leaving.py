"""Ends the process of a command; every command ends here.

Threads of Arrow and Delta, written in other languages, may still be calling into Python when a command is done.
Python's finalisation ends such a thread by an unwind that C++ forbids, and the process aborts with exit code 134. So a
command does the earlier steps of a normal exit, and leaves without finalising the interpreter.
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
"""Exit code if the output is no longer read: the one that a shell reports after SIGPIPE."""

_STDOUT, _STDERR = 1, 2


def leave(code: int, waits: bool = True) -> NoReturn:
    """End the process with an exit code.

    Parameters
    ----------
    waits : bool
        Whether Python's own threads are joined, and functions of `atexit` called, as at a normal exit; an interrupted
        command waits for nothing.
    """
    try:
        if waits:
            join_threads: Any = threading._shutdown  # type: ignore[attr-defined]
            join_threads()  # also ends the pools of `concurrent.futures`
            atexit._run_exitfuncs()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # an unread pipe; closed; none
                stream.flush()
        os._exit(code)


@contextmanager
def outputs() -> Iterator[list[int]]:
    """Yield copies of the descriptors of stdout and stderr, as rich replaces a closed pipe by /dev/null."""
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
    """Test whether one of these is a pipe that is no longer read, as after `| head`."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))
