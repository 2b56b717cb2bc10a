"""Turns SIGINT, SIGTERM and SIGHUP into a KeyboardInterrupt, and repeats it if a finalizer has swallowed it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

from tailrace.ground.interruptions import forget_interruptions, note_interruption

_AGAIN_S = 0.5

RESUMPTION = "what is committed stays, and the same command goes on from there"
"""The default message after an interrupted command."""

AFTER_INTERRUPTION = {
    "serve": "nothing of it runs any more; the same command goes on with its streams",
    "backup": "nothing of it stays",
    "restore": "nothing of it stays",
    "rebuild": "everything is as it was, or is rebuilt; the same command begins again",
}


def interruptible() -> list[int]:
    """Raise KeyboardInterrupt at each of these signals from now on; returns a list that collects their numbers.

    If an exception leaves a finalizer, such as one of py4j's objects, Python only reports it and goes on. So an
    interruption that is lost there is sent again.
    """
    forget_interruptions()
    signals: list[int] = []
    report = sys.unraisablehook

    def interrupt(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        note_interruption()
        raise KeyboardInterrupt

    def send(received: int) -> None:
        if len(signals) == received:  # otherwise another one has arrived meanwhile
            os.kill(os.getpid(), signals[-1])

    def send_again(swallowed: Any) -> None:
        if signals and swallowed.exc_type is not None and issubclass(swallowed.exc_type, KeyboardInterrupt):
            timer = threading.Timer(_AGAIN_S, send, (len(signals),))
            timer.daemon = True
            timer.start()
        else:
            report(swallowed)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if (number, signal.getsignal(number)) != (signal.SIGHUP, signal.SIG_IGN):  # nohup ignores SIGHUP
            signal.signal(number, interrupt)
    sys.unraisablehook = send_again
    return signals
