"""The start of the program `tailrace`: loads the command, which takes most of a second, and runs it."""

from __future__ import annotations

import os
import signal
from importlib import import_module
from types import FrameType

INTERRUPTED = 130


def main(program: str = "tailrace.cli.commands") -> None:
    """Run the `main` of a module; Ctrl-C while it loads ends it without a traceback, as later (`interruption`)."""
    signal.signal(signal.SIGINT, _leave)
    import_module(program).main()


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once, as nothing has begun, and a loading library may swallow an exception."""
    os.write(2, b"interrupted: nothing had begun\n")
    os._exit(INTERRUPTED)
