"""The JSON log of commands and drivers, one object a line. `TAILRACE_LOG=json` turns it on.

Text that a program prints to stderr becomes the `message` of a line; events have their own fields. No field holds a
value of a tuple. The output of Spark's JVM is unchanged.
"""

from __future__ import annotations

import io
import json
import os
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from tailrace.ground.errors import refuse

VARIABLE = "TAILRACE_LOG"
_ERRORS = ("refused ", "failed ", "Traceback ")


class JsonLog(io.TextIOBase):
    """A text stream that writes each line as a JSON object with its time and level.

    Attributes
    ----------
    fields : dict
        The fields that every line has in addition.
    """

    def __init__(self, target: TextIO, fields: dict[str, Any]) -> None:
        self.fields, self._target, self._begun = fields, target, ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            if line.strip():
                self.emit({"message": line.rstrip()}, "error" if line.startswith(_ERRORS) else "info")
        return len(text)

    def emit(self, what: dict[str, Any], level: str = "info") -> None:
        """Write one line."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now, "level": level, **self.fields, **what}
        self._target.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")
        self._target.flush()

    def flush(self) -> None:
        self._target.flush()

    def fileno(self) -> int:
        return self._target.fileno()

    def writable(self) -> bool:
        return True


def use_if_asked(**fields: Any) -> None:
    """Turn stderr into a JSON log if the environment asks for it. Every line gets the given fields.

    Raises
    ------
    Refused
        When it asks for another format.
    """
    asked = os.environ.get(VARIABLE, "")
    if asked not in ("", "json"):
        raise refuse(f"environment variable {VARIABLE}", f"it is {asked!r}", "json, or no such variable")
    if asked and not isinstance(sys.stderr, JsonLog):
        sys.stderr = JsonLog(sys.stderr, fields)


def name(**fields: Any) -> None:
    """Add fields to every line from now on if the log is in JSON."""
    if isinstance(sys.stderr, JsonLog):
        sys.stderr.fields |= fields


def write_event(event: str, **fields: Any) -> None:
    """Write an event if the log is in JSON, else do nothing."""
    if isinstance(sys.stderr, JsonLog):
        sys.stderr.emit({"event": event, **fields})
