"""`Failure` classifies an exception of a stream: its kind and its one-line reason."""

from __future__ import annotations

import errno
import ssl

import pyarrow as pa
import pytest
from deltalake.exceptions import DeltaError

from tailrace.engine.chunk_stores import LostChunk
from tailrace.stream.failures import Failure

WORKER = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "source.py", line 51, in read
    messages = pipeline.messages(segment)
{last}
"""


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


class Captured(Exception):
    """An exception of the JVM, with the fields of PySpark's `CapturedException`."""

    def __init__(self, desc, stack="", cause=None):
        super().__init__(desc)
        self._desc, self._stackTrace, self._cause = desc, stack, cause


CASES = {
    "a full disk, as Delta's library tells of it": (
        OSError(
            "Generic LocalFileSystem error\n          \x1b[31m↳\x1b[0m Unable to copy data to file\n"
            "           \x1b[31m↳\x1b[0m No space left on device (os error 28)"
        ),
        "transient",
        "Generic LocalFileSystem error: Unable to copy data to file: No space left on device (os error 28)",
    ),
    "a full disk, in the sink": (OSError(errno.ENOSPC, "No space left on device"), "transient", "No space"),
    "a full disk, in Delta": (
        DeltaError("Generic error: No space left on device (os error 28)"),
        "transient",
        "No space",
    ),
    "a full disk, in Spark": (
        Captured("Job aborted", "", Captured("java.io.IOException: No space left on device")),
        "transient",
        "java.io.IOException: No space left on device",
    ),
    "a full disk, as py4j tells it": (
        RuntimeError(
            "An error occurred while calling o129.getResult.\n: org.apache.spark.SparkException: aborted\n\tat x.Y\n"
            "Caused by: java.io.IOException: No space left on device\n\tat z.Z\n\t... 63 more\n"
        ),
        "transient",
        "java.io.IOException: No space left on device",
    ),
    "a bug, by its class and place": (
        raised(KeyError("metrics")),
        "failed",
        "KeyError: 'metrics' (test_failures.py, line ",
    ),
    "a bug that says nothing": (raised(AssertionError()), "failed", "AssertionError: (test_failures.py, line "),
    "what py4j tells without a cause": (
        RuntimeError("An error occurred while calling o1.start.\n: java.lang.Exception: why\n\tat x.Y"),
        "failed",
        "java.lang.Exception: why",
    ),
    "a full disk, in Spark's checkpoint": (
        Captured("java.io.IOException: No space left on device", "at o.a.s.streaming.checkpointing.HDFSMetadataLog"),
        "transient",
        "No space",
    ),
    "a file that is away": (
        Captured(WORKER.format(last="FileNotFoundError: [Errno 2] No such file or directory: 'x'")),
        "transient",
        "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
    ),
    "a worker that can't connect": (
        Captured("failed", "", Captured("Timed out while waiting for the Python worker to connect back")),
        "process",
        "did not start within 10 s",
    ),
    "a worker that was killed": (
        Captured("", "", Captured("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed).")),
        "process",
        "a Python process of Spark's was lost",
    ),
    "workers that can't be started": (
        Captured("", "", Captured("EOFException occurred while reading the port number from pyspark.daemon's stdout.")),
        "process",
        "a Python process of Spark's was lost",
    ),
    "a state that is lost, in this process": (
        LostChunk("the state after batch 3, /wh/tasks/0/00000003.state, is not there"),
        "checkpoint",
        "the state after batch 3, /wh/tasks/0/00000003.state, is not there",
    ),
    "an error of ours": (
        Captured(WORKER.format(last="tailrace.ground.errors.SourceChanged: part-0: it has changed")),
        "failed",
        "tailrace.ground.errors.SourceChanged: part-0: it has changed",
    ),
    "an error of ours over a state": (
        Captured(WORKER.format(last="RuntimeError: the checkpoint's state is of version 2, this tailrace reads 3")),
        "failed",
        "RuntimeError: the checkpoint's state is of version 2, this tailrace reads 3",
    ),
    "a log that changed, by its name": (
        Captured(
            WORKER.format(last="tailrace.ground.errors.SourceChanged: /data/log files/a.json: [LOG_FILE] is gone")
        ),
        "failed",
        "SourceChanged",
    ),
    "an error of ours that was raised from one of the system's": (
        Captured(
            WORKER.format(last="FileNotFoundError: [Errno 2] No such file: 'x'")
            + "\nThe above exception was the direct cause of the following exception:\n\n"
            + WORKER.format(last="tailrace.ground.errors.SourceChanged: x: it was removed")
        ),
        "failed",
        "SourceChanged: x: it was removed",
    ),
    "a file of a table that is lost": (DeltaError("File not found: No such file (os error 2)"), "failed", "not found"),
    "a batch that does not balance": (RuntimeError("a batch does not balance: 1 read"), "failed", "does not balance"),
    "nothing said": (RuntimeError(), "failed", "RuntimeError"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_failure_is_classified_by_its_remedy(name):
    error, kind, reason = CASES[name]
    failure = Failure.classify(error)
    assert failure.kind == kind
    assert reason in failure.reason
    assert "\n" not in failure.reason


@pytest.mark.parametrize("error", [pa.ArrowInvalid("why"), ssl.SSLCertVerificationError("why"), RuntimeError("why")])
def test_what_is_no_bug_is_told_without_class_and_place(error):
    """The first two are ValueErrors, too."""
    assert Failure.classify(raised(error)).reason.strip("(',)") == "why"
