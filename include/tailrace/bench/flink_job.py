"""Runs SQL of Flink's in a process of its own, with Flink's own Python: started by flink.py, and imported by nobody.

Each line of standard input is a job as JSON: `settings`, `tables` (statements that declare them) and `insert`. A line
of standard output answers it: `job_s`, the time for which the job ran, without its planning and the start of the
cluster. The JVM lives from the first job to the end of the input.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyflink.common import Configuration  # type: ignore[import-not-found]
from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found]


def run(job: dict[str, Any]) -> dict[str, float]:
    """Run a job to its end."""
    configuration = Configuration()
    for name, value in job["settings"].items():
        configuration.set_string(name, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    tables = TableEnvironment.create(settings)
    for statement in job["tables"]:
        tables.execute_sql(statement)
    running = tables.execute_sql(job["insert"])
    running.wait()
    result = running.get_job_client().get_job_execution_result().result()
    return {"job_s": result.get_net_runtime() / 1000}


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the JVM logs to standard output
    for line in sys.stdin:
        answers.write(json.dumps(run(json.loads(line))) + "\n")


if __name__ == "__main__":
    main()
