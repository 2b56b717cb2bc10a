"""Classification of the exceptions of a running stream: a kind, which decides on a retry, and a one-line reason."""

from __future__ import annotations

import builtins
import re
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from tailrace.engine.chunk_stores import LostChunk

_TRANSIENT = re.compile(r"No space left on device|Disk quota exceeded|\(os error (?!2\))\d+\)")
_BUSY = re.compile(r"connect back")  # Spark waits ten seconds for a Python process, whatever is configured
_KILLED = re.compile(  # by the kernel when memory is short, or by somebody
    r"Python worker exited unexpectedly|reading the port number from pyspark\.daemon's stdout"
)
_LOST = re.compile(r"^[\w.]*\bLostChunk: ", re.MULTILINE)  # of a task's state
_CAUSED = re.compile(r"^(?:Caused by|): (\S.*)$", re.MULTILINE)
_INNER = re.compile(r"\n\s*(?:\x1b\[\d+m)?↳(?:\x1b\[\d+m)?\s*")  # Delta's library writes each cause on a separate line
_RAISED = re.compile(r"^(?:[a-z_]\w*\.)*([A-Z]\w*)(?::.*)?$", re.MULTILINE)  # the last line of a Python traceback

_PACKAGE = Path(__file__).parents[1]
_BUGS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError, ValueError)
"""Errors that say little without their class and the position in the code."""


@dataclass(frozen=True)
class Failure:
    """A classified exception of a stream: its kind, and its reason in one line.

    Attributes
    ----------
    kind : str
        ``transient``: the disk or another part of the system failed, and may come back; ``process``: a Python process
        did not start in time, or was killed; ``checkpoint``: the state of a task is lost or damaged; ``failed``:
        anything else.
    reason : str
        The innermost cause, in one line.
    """

    kind: Literal["transient", "process", "checkpoint", "failed"]
    reason: str

    @staticmethod
    def classify(error: BaseException) -> Failure:
        """Classify an exception of the sink or of Spark: determine its kind and its one-line reason."""
        text, reason = _text(error), _reason(error)
        python = "Traceback" in text
        raised = _raised(text) if python else None
        if _BUSY.search(text):
            return Failure("process", "a Python process of Spark's did not start within 10 s: the machine is busy")
        if not python and _KILLED.search(text):
            return Failure("process", "a Python process of Spark's was lost")
        if (
            isinstance(error, OSError)
            or _TRANSIENT.search(text)
            or (raised is not None and issubclass(raised, OSError))
        ):
            return Failure("transient", reason)
        if isinstance(error, LostChunk) or (python and _LOST.search(text)):
            return Failure("checkpoint", reason)
        return Failure("failed", reason)


def _text(error: Any) -> str:
    """Return the texts of an error and its causes, including Java's stack traces."""
    parts = []
    while error is not None:
        parts += [type(error).__name__, str(getattr(error, "_desc", None) or error), getattr(error, "_stackTrace", "")]
        error = getattr(error, "_cause", None)
    return "\n".join(map(str, parts))


def _reason(error: Any) -> str:
    """Return the innermost cause, without the surrounding plans and traces."""
    while getattr(error, "_cause", None) is not None:
        error = error._cause
    text = str(getattr(error, "_desc", None) or error).strip()
    if "Traceback" in text:
        lines = [match[0] for match in _RAISED.finditer(text.partition("Traceback")[2])]
        text = lines[-1] if lines else text
    elif causes := _CAUSED.findall(text):  # py4j returns Java's own print of it
        text = causes[-1]
    text = _INNER.sub(": ", text)
    line = text.splitlines()[0].strip() if text else ""
    if isinstance(error, _BUGS) and not isinstance(error, (OSError, pa.ArrowInvalid)):  # some are also ValueErrors
        return " ".join(part for part in (f"{type(error).__name__}:", line, _place(error)) if part)
    return line or type(error).__name__


def _place(error: BaseException) -> str:
    """Return the file and line, preferably ours, that raised an error; empty for an error that was not raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    return "".join(f"({Path(frame.filename).name}, line {frame.lineno})" for frame in (ours or frames)[-1:])


def _raised(text: str) -> type[BaseException] | None:
    """Return the class of the exception that ends a Python traceback in the text, if it is one of Python's own."""
    names = [match[1] for match in _RAISED.finditer(text.partition("Traceback")[2])]
    exception = getattr(builtins, names[-1], None) if names else None
    return exception if isinstance(exception, type) and issubclass(exception, BaseException) else None
