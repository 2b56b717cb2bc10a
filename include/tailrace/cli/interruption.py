"""Makes SIGINT, SIGTERM and SIGHUP interrupt a command, as a KeyboardInterrupt that no finalizer swallows."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

_AGAIN_S = 0.05


def interruptible() -> list[int]:
    """Raise KeyboardInterrupt at each of these signals from now on; returns the list to which their numbers are added.

    Where that is raised in a finalizer or a callback from C, as of the objects of py4j, Python reports it and goes on.
    Then the signal is sent again.
    """
    signals: list[int] = []
    report = sys.unraisablehook

    def interrupt(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        raise KeyboardInterrupt

    def send_again(swallowed: Any) -> None:
        if signals and swallowed.exc_type is not None and issubclass(swallowed.exc_type, KeyboardInterrupt):
            timer = threading.Timer(_AGAIN_S, os.kill, (os.getpid(), signals[-1]))
            timer.daemon = True
            timer.start()
        else:
            report(swallowed)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if (number, signal.getsignal(number)) != (signal.SIGHUP, signal.SIG_IGN):  # nohup ignores SIGHUP
            signal.signal(number, interrupt)
    sys.unraisablehook = send_again
    return signals
