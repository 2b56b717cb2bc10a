"""Reads the progress, the coverage and the promise of a query; also from a process of its own.

    python -m tailrace.correction.query_facts WAREHOUSE/QUERY

A process that forks after it has opened a table can't open one in its child: deltalake's threads are not there. And
Airflow's OpenLineage provider forks at the end of a task, so tasks have these facts read elsewhere.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tailrace.correction.promise_state import PromiseState
from tailrace.ground.duration import format_time
from tailrace.ground.object_path import Location
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.storage.warehouses import location_of

_TIMEOUT_S = 60.0


def facts(home: Location) -> dict[str, Any]:
    """Return what is true of the query whose home this is.

    Returns
    -------
    dict
        `coverage`: the share of the tuples that came in time; `committed`: the arrival time up to which everything was
        taken in; `promise`: `kept` or `broken` by the newest measured errors, or `unknown`; `promise_detail`: the
        measured errors against the promise.
    """
    layout = Layout(home)
    status, promise = Status.read(layout), PromiseState.read(layout)
    committed = None if status is None else status.committed
    return {
        "coverage": None if status is None else status.coverage,
        "committed": None if committed is None else format_time(committed),
        "promise": promise.state,
        "promise_detail": promise.detail,
    }


def facts_by_child(home: str) -> dict[str, Any]:
    """Return the facts as another process reads them.

    Raises
    ------
    RuntimeError
        When it can't read them; with the end of what it says.
    """
    command = [sys.executable, "-m", "tailrace.correction.query_facts", home]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-500:] or f"the reader ended with exit code {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(facts(location_of(sys.argv[1]))), flush=True)
    os._exit(0)  # as commands do: Arrow's threads may abort a process that finalises Python
