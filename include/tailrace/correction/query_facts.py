"""Reads the progress, the coverage and the promise of a query, if necessary in a separate process.

    python -m tailrace.correction.query_facts WAREHOUSE/QUERY

If a process opens a table and then forks, its child can't open one, as it lacks deltalake's threads. Airflow's
OpenLineage provider forks at the end of a task, so tasks read these facts in another process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tailrace.correction.promise_state import PromiseState
from tailrace.ground.duration import format_time
from tailrace.ground.files.object_path import Location
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.status import Status
from tailrace.storage.warehouses import location_of

_TIMEOUT_S = 60.0


def facts(home: Location) -> dict[str, Any]:
    """Return the facts about the query with this home directory.

    Returns
    -------
    dict
        `coverage`: the share of the tuples that came in time; `committed`: the arrival time up to which everything was
        processed; `promise`: `kept` or `broken` by the newest measured errors, or `unknown`; `promise_detail`: the
        measured errors against the promise.
    """
    layout = Layout(home)
    status, promise = Status.read(layout), PromiseState.read(OpenedTables(layout))
    committed = None if status is None else status.committed
    return {
        "coverage": None if status is None else status.coverage,
        "committed": None if committed is None else format_time(committed),
        "promise": promise.state,
        "promise_detail": promise.detail,
    }


def facts_by_child(home: str) -> dict[str, Any]:
    """Read the facts in another process.

    Raises
    ------
    RuntimeError
        When that process fails; with the end of its output.
    """
    command = [sys.executable, "-m", "tailrace.correction.query_facts", home]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-500:] or f"the reader ended with exit code {done.returncode}")
    query_facts: dict[str, Any] = json.loads(done.stdout)
    return query_facts


if __name__ == "__main__":
    print(json.dumps(facts(location_of(sys.argv[1]))), flush=True)
    os._exit(0)  # like commands, as Arrow's threads may abort a process that finalises Python
