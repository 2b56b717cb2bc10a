"""Program that joins points with polygons by Apache Sedona, as a process that sedona.py starts; nothing imports it.

Each line of standard input is a job as JSON. The first one has the Spark session's `settings`; the answer is `start_s`,
the time that the session took to start. The others have `points`, `polygons` and `answers`, paths of Parquet; the
answer is `job_s`, the time of the join. The session lives to the end of the input.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from pyspark.sql import SparkSession

_JOIN = """
SELECT /*+ BROADCAST(d) */ p.id AS left_id, d.id AS right_id, p.event_time AS left_time,
    CAST(NULL AS TIMESTAMP) AS right_time
FROM points p JOIN (SELECT id, ST_GeomFromWKB(geometry) AS shape FROM polygons) d
    ON ST_Contains(d.shape, ST_Point(p.lon, p.lat))
"""


def start(settings: dict[str, str]) -> SparkSession:
    """Start the session."""
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run(spark: SparkSession, job: dict[str, Any]) -> None:
    """Join the points with the polygons that contain them, and write the pairs."""
    for name in ("points", "polygons"):
        spark.read.parquet(job[name]).createOrReplaceTempView(name)
    spark.sql(_JOIN).write.parquet(job["answers"])


def main() -> None:
    """Run the jobs of standard input until it ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the JVM logs to standard output
    began = time.perf_counter()
    spark = start(json.loads(sys.stdin.readline())["settings"])
    answers.write(json.dumps({"start_s": time.perf_counter() - began}) + "\n")
    for line in sys.stdin:
        began = time.perf_counter()
        run(spark, json.loads(line))
        answers.write(json.dumps({"job_s": time.perf_counter() - began}) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
