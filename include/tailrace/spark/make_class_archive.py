"""Runs a small stream on Spark, and archives the classes that the JVM loads, for this installation's drivers.

Run it as `python -m tailrace.spark.make_class_archive`. On failure it prints the reason and exits with code 1.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.query.loading import load
from tailrace.spark import app
from tailrace.spark.class_archive import ClassArchive
from tailrace.spark.session import session

_EXIT_S = 600.0  # the JVM writes the archive when it ends; on a busy machine for minutes
_QUERY = """
name: classes
kind: aggregate
streams:
  readings:
    source: {format: parquet, path: readings.parquet}
    event_time: at
    arrival_time: at
    id: at
window: {size: 2 s, slide: 1 s}
disorder: {policy: none}
aggregate: {function: sum, column: at}
parallelism: 2
"""
_OTHERS = (
    *("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "TAILRACE_MASTER", "TAILRACE_SOURCES"),  # meant for other jobs
    *("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH"),  # these would be on the class path
)
_START_MS = 1_600_000_000_000


def make(archive: ClassArchive) -> None:
    """Create or replace the archive; running drivers keep the one that they have.

    Raises
    ------
    OSError
        When its directory can't be written.
    RuntimeError
        When Spark can't run here, or its JVM writes no archive.
    """
    archive.empty_conf.mkdir(parents=True, exist_ok=True)
    os.environ["SPARK_CONF_DIR"] = str(archive.empty_conf)
    with tempfile.TemporaryDirectory(dir=archive.directory) as name:
        scratch = Path(name)
        pq.write_table(
            pa.table({"at": [_START_MS + second * 1000 for second in range(9)]}), scratch / "readings.parquet"
        )
        (scratch / "query.yaml").write_text(_QUERY)
        new = scratch / "classes.jsa"
        options = f'{archive.log_option} -Xlog:cds*=off "-XX:ArchiveClassesAtExit={new}"'
        settings = {"spark.driver.defaultJavaOptions": options}
        with session("class archive", 2, settings, exit_s=_EXIT_S) as spark:
            app.run(load(scratch / "query.yaml"), scratch / "warehouse", spark=spark)
        if not new.exists():
            raise RuntimeError("the JVM has written no archive of its classes")
        new.replace(archive.file)


def main() -> str | None:
    """Create the archive of this installation; return the reason if that fails, else None."""
    for variable in _OTHERS:
        os.environ.pop(variable, None)
    try:
        make(ClassArchive())
    except (OSError, RuntimeError) as error:
        return f"no archive was made: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main())
