"""Spark sessions: local by default, silent except for errors, and closed together with their JVM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tailrace.spark import masters
from tailrace.spark.package_archive import package_archive


@contextmanager
def session(
    name: str,
    shuffle_partitions: int,
    settings: dict[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    exit_s: float = 10.0,
) -> Iterator[SparkSession]:
    """Yield a Spark session for one job; it is closed at the end with its JVM, also after an error.

    Parameters
    ----------
    shuffle_partitions : int
        The stream's parallelism.
    environment : mapping of str to str, optional
        Environment variables of the Python workers on any machine; as they may be secret, they are not settings.
    exit_s : float
        The time for the JVM to end, in s, before it is killed.

    Raises
    ------
    RuntimeError
        When Spark fails, with the text of its error.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has started the JVM, with master and addresses
    if not (submitted and "PYSPARK_PYTHON" in os.environ):  # a path for workers on other machines, set by spark-submit
        os.environ["PYSPARK_PYTHON"] = sys.executable  # they would use the `python3` on PATH
    conf = {
        "spark.app.name": name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.master.rest.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.hadoop.fs.permissions.umask-mode": _umask(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(shuffle_partitions),
        "spark.cores.max": str(shuffle_partitions),  # otherwise one driver would take all of a cluster
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
    }
    builder = SparkSession.builder
    if not submitted:
        master = os.environ.get("TAILRACE_MASTER", "local[*]")
        builder = builder.master(master)
        os.environ.update(masters.environment(master))
        conf |= masters.conf(master)
    for key, value in {**conf, **(settings or {})}.items():
        builder = builder.config(key, value)
    spark = None
    resources = ExitStack()
    try:
        with _uninterrupted():
            spark = builder.getOrCreate()
        if not (spark.sparkContext.master or "").startswith("local"):
            spark.sparkContext.addPyFile(str(resources.enter_context(package_archive())))
        spark.sparkContext.environment.update(environment or {})
        yield spark
    except PySparkException as error:
        raise RuntimeError(str(error)) from None  # get the text now, as the JVM ends here
    finally:
        resources.close()
        _close(spark, exit_s)


def _umask() -> str:
    """Return the umask of this process, for Hadoop's file system, which writes checkpoints and has another default."""
    umask = os.umask(0o077)
    os.umask(umask)
    return f"{umask:03o}"


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C, SIGTERM and SIGHUP to the end of the block, as an interrupted start would leave its JVM running."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals: list[int] = []
    handlers = {
        number: signal.signal(number, lambda signum, _: signals.append(signum))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) != signal.SIG_IGN  # such as SIGHUP under nohup
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if signals:
        raise KeyboardInterrupt


def _close(spark: SparkSession | None, exit_s: float) -> None:
    """Stop Spark, and make sure that its JVM ends."""
    gateway = SparkContext._gateway
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    try:
        if spark is not None:
            spark.stop()
    finally:
        if gateway is not None:
            gateway.shutdown()
            SparkContext._gateway = SparkContext._jvm = None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()  # the JVM ends when its driver does
            try:
                process.wait(exit_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
