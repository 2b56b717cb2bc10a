"""Program of a contestant on Spark, as a process that spark_peer.py starts; nothing imports it.

Each line of standard input is a job as JSON. The first one has the session's `settings`; the answer has its JVM's
`jvm_options`. The others have `function`, its module and its name, which is called with the session and `arguments`;
its result is the answer. The session lives to the end of the input.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession


def start(settings: dict[str, str]) -> SparkSession:
    """Start the session."""
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def jvm_options(spark: SparkSession) -> list[str]:
    """Return the options of the session's JVM that may affect its speed, as reported by the JVM."""
    java: Any = spark.sparkContext._jvm
    options = java.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
    return [str(option) for option in options if str(option).startswith("-X")]


def run(spark: SparkSession, job: dict[str, Any]) -> Any:
    """Call a job's function and return its answer."""
    module, _, name = job["function"].partition(":")
    return getattr(import_module(module), name)(spark, *job["arguments"])


def main() -> None:
    """Run the jobs of standard input until it ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the JVM logs to standard output
    spark = start(json.loads(sys.stdin.readline())["settings"])
    answers.write(json.dumps({"jvm_options": jvm_options(spark)}) + "\n")
    for line in sys.stdin:
        answers.write(json.dumps(run(spark, json.loads(line))) + "\n")
    spark.stop()


if __name__ == "__main__":
    main()
