"""Program that runs Flink SQL with Flink's own Python, as a process that flink.py starts; nothing imports it.

Each line of standard input is a job as JSON: `settings`, `tables` (statements that declare them) and `insert`. The
answer is a line of standard output: `job_s`, the time for which the job ran, without its planning and the start of the
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
    """Run a job to its end, and return its answer."""
    configuration = Configuration()
    for name, value in job["settings"].items():
        configuration.set_string(name, value)
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
    tables = TableEnvironment.create(settings)
    for statement in job["tables"]:
        tables.execute_sql(statement)
    table_result = tables.execute_sql(job["insert"])
    table_result.wait()
    result = table_result.get_job_client().get_job_execution_result().result()
    return {"job_s": result.get_net_runtime() / 1000}


def main() -> None:
    """Run the jobs of standard input until it ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the JVM logs to standard output
    for line in sys.stdin:
        answers.write(json.dumps(run(json.loads(line))) + "\n")


if __name__ == "__main__":
    main()
