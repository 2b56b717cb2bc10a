"""The demonstration: the platform as its users have it, on a laptop, over a sample of real flights.

Airflow and a driver host start on free ports of loopback; a stream is deployed, watched, corrected by a backfill, and
every answer is held against the truth.
"""

from __future__ import annotations

import json
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailrace import show
from tailrace.declare import load
from tailrace.demo.telling import FLIGHTS, line, look_around, summary
from tailrace.demo.truth import share_right, truth
from tailrace.errors import refuse
from tailrace.orchestration.embedded import EmbeddedHost
from tailrace.orchestration.embedded_airflow import USER, Api, EmbeddedAirflow
from tailrace.query import Query
from tailrace.spark.layout import Layout
from tailrace.spark.results import read_answers
from tailrace.spark.status import Status

BACKFILL = ("2013-01-01T05:00:00+00:00", "2013-02-15T05:00:00+00:00")  # the halves of months of the sample's arrivals
_LOOK_S, _PATIENCE_S = 1.0, 300.0
_DONE = ("success", "failed")


def demonstrate(home: Path, bounded: bool) -> bool:
    """Start, stream, correct, compare, and show it; True when every corrected answer is right.

    Parameters
    ----------
    home : Path
        Where everything goes; a demonstration that is there already is taken away first.
    bounded : bool
        End then; else go on until Ctrl-C, for people to look around.

    Raises
    ------
    Refused
        When this is no checkout of tailrace, or there is something in `home` that no demonstration made.
    RuntimeError
        When a part of it fails; tells which, and where its log is.
    """
    if not (FLIGHTS.exists() and Path("dags").is_dir()):
        raise refuse(str(Path.cwd()), "it is no checkout of tailrace", "the directory that has dags and include")
    query, home = load(FLIGHTS), home.absolute()
    _clear(home)
    show.err.rule("1 ∕ 4  starting Airflow and the driver host")
    with EmbeddedHost(home / "drivers") as hosting:
        airflow = EmbeddedAirflow(home / "airflow", Path("dags"), _environment(home, hosting))
        with airflow:
            _tell_environment(home, airflow)
            return _scenes(query, home, airflow, bounded)


def _scenes(query: Query, home: Path, airflow: EmbeddedAirflow, bounded: bool) -> bool:
    api, name, layout = airflow.api(), query.name, Layout.of(home / "tables", query.name)
    show.err.print(f"Airflow is at {airflow.url} , user {USER}, password {airflow.password}", soft_wrap=True)
    for dag in (f"stream_{name}", f"correct_{name}"):
        _unpause(api, dag)
    show.err.rule(f"2 ∕ 4  [bold]stream_{name}[/]: a replay of {query.stream[1].source.path.name} in order of arrival")
    run = api.call("POST", f"dags/stream_{name}/dagRuns", {"logical_date": None})["dag_run_id"]
    _watch_stream(query, layout, api, run)
    streamed, _ = read_answers(query, layout.home.parent, streamed=True)
    show.err.rule(f"3 ∕ 4  [bold]correct_{name}[/]: late tuples, by airflow backfill create")
    _backfill(name, airflow, api)
    corrected, _ = read_answers(query, layout.home.parent, streamed=False)
    show.err.rule("4 ∕ 4  holding every answer against the truth")
    true = truth(query)
    rights = [share_right(answers, true) for answers in (streamed, corrected)]
    show.out.print(summary(query, streamed, corrected, rights, len(true)))
    if not bounded:
        look_around(name, home, airflow)
    show.err.print("draining the stream: its run is marked as a success")
    api.call("PATCH", f"dags/stream_{name}/dagRuns/{run}", {"state": "success"})
    _until(lambda: _said(layout).state == "drained", "the driver did not drain", home)
    return rights[1] == 1 and len(corrected) == len(true)


def _watch_stream(query: Query, layout: Layout, api: Api, run: str) -> None:
    """Show how the stream stands, until it has read everything and is quiet."""
    told = None

    def quiet() -> bool:
        nonlocal told
        said = Status.read(layout)
        if said is not None and (said.batches, said.state) != told:
            told = said.batches, said.state
            show.err.print(line(said), soft_wrap=True)
        states = _states(api, f"dags/stream_{query.name}/dagRuns/{run}/taskInstances", "task_instances")
        if "failed" in states:
            raise RuntimeError(f"stream_{query.name} failed; the logs are in {layout.home.parent.parent}/airflow/logs")
        return said is not None and said.state == "quiet"

    _until(quiet, "the stream did not come to its end", layout.home.parent.parent)


def _backfill(name: str, airflow: EmbeddedAirflow, api: Api) -> None:
    """Correct the intervals of the sample's arrivals."""
    start, end = BACKFILL
    words = ("backfill", "create", "--dag-id", f"correct_{name}", "--from-date", start, "--to-date", end)
    show.err.print(f"airflow {shlex.join(words)}", soft_wrap=True)
    done = airflow.command(*words)
    if done.returncode:
        raise RuntimeError(f"the backfill was refused: {done.stderr[-2000:] or done.stdout[-2000:]}")
    told: Counter[str] = Counter()

    def over() -> bool:
        nonlocal told
        runs = _states(api, f"dags/correct_{name}/dagRuns", "dag_runs", run_type="backfill")
        if runs != told:
            told = runs
            show.err.print("  ".join(f"{count} {state}" for state, count in sorted(runs.items())))
        return bool(runs) and all(state in _DONE for state in runs)

    _until(over, "the backfill did not come to its end", airflow.directory)
    if told["failed"]:
        raise RuntimeError(f"{told['failed']} corrections failed; their logs are in {airflow.directory}/logs")


def _unpause(api: Api, dag: str) -> None:
    def found() -> bool:
        return any(one["dag_id"] == dag for one in api.call("GET", "dags")["dags"])

    _until(found, f"Airflow does not find {dag}", Path("dags"))
    api.call("PATCH", f"dags/{dag}", {"is_paused": False})


def _states(api: Api, path: str, what: str, **query: Any) -> Counter[str]:
    return Counter(str(one["state"]) for one in api.call("GET", path, **query)[what])


def _said(layout: Layout) -> Status:
    said = Status.read(layout)
    assert said is not None  # it was watched all the time
    return said


def _until(there: Callable[[], bool], wrong: str, where: Path) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not there():
        if time.monotonic() > end:
            raise RuntimeError(f"{wrong} within {_PATIENCE_S:.0f} s; see {where}")
        time.sleep(_LOOK_S)


def _environment(home: Path, hosting: EmbeddedHost) -> dict[str, str]:
    """Where things are, for Airflow and for shells."""
    access = hosting.access
    there = {"host": access.host, "port": access.port, "login": access.user, "password": access.password}
    programs = {"programs": str(hosting.directory / "programs")}
    return {
        "TAILRACE_QUERIES": str(FLIGHTS.parent.absolute()),
        "TAILRACE_WAREHOUSE": str(home / "tables"),
        "AIRFLOW_CONN_TAILRACE_SPARK": json.dumps({"conn_type": "spark", "host": "local[*]"}),
        "AIRFLOW_CONN_TAILRACE_DRIVER_HOST": json.dumps({"conn_type": "http", **there, "extra": programs}),
    }


def _tell_environment(home: Path, airflow: EmbeddedAirflow) -> None:
    """A file for shells; it holds passwords."""
    file = home / "env.sh"
    file.touch(mode=0o600)
    file.write_text("".join(f"export {name}={shlex.quote(value)}\n" for name, value in airflow.environment.items()))


def _clear(home: Path) -> None:
    """Make room, but only where a demonstration was."""
    mark = home / ".demo"
    if home.exists() and any(home.iterdir()) and not mark.exists():
        raise refuse(f"--warehouse {home}", "it holds what no demonstration made", "another directory")
    EmbeddedHost(home / "drivers").stop()  # what a demonstration has left that was killed
    EmbeddedAirflow(home / "airflow", Path("dags"), {}).kill()
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    mark.touch()
