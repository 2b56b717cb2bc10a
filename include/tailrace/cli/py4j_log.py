"""The filter of what py4j, Spark's bridge between Python and its JVM, logs."""

from __future__ import annotations

import logging


def is_wanted(record: logging.LogRecord, interrupted: bool) -> bool:
    """Return False for py4j's records of an error that is raised in Python or passed on to Java anyway.

    After an interruption it is false for all that py4j logs of connections that break.
    """
    text = str(record.msg)
    repeats = text.endswith("while sending command.") or text.startswith("There was an exception while executing")
    return not (repeats or (interrupted and record.name.startswith("py4j.")))
