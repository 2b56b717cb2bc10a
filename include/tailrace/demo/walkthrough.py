"""The demonstration: the platform as its users have it, on a laptop, over a sample of real flights.

Airflow and a driver host start on free ports of loopback; a stream is deployed, watched, corrected by a backfill, and
every answer is compared with the truth. On request there are other streams: one whose corrections start by themselves
while it goes on, two of top-k queries, of which one is calibrated while it goes on, a join of two films, and two joins
of taxis: with the districts of Beijing, and with one another.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path

from tailrace.demo import scenarios
from tailrace.demo.demonstrated_query import DemoQuery
from tailrace.demo.generated_data import COPIES, DELAYS, DISTRICTS, GAME2, MEETINGS, TRADES, declare, places
from tailrace.demo.inventory import Inventory
from tailrace.demo.printed_texts import look_around
from tailrace.demo.spatial_map import draw
from tailrace.drivers.embedded import UMASK, EmbeddedHost
from tailrace.drivers.embedded_cluster import EmbeddedCluster
from tailrace.ground.errors import refuse
from tailrace.ground.files import write_atomically
from tailrace.orchestration.airflow_parts import KEPT_HOST
from tailrace.orchestration.embedded_airflow import START_S, USER, EmbeddedAirflow
from tailrace.orchestration.forget_dags import forget_dags
from tailrace.orchestration.links import DAG_KINDS
from tailrace.query.loading import load
from tailrace.terminal import screen
from tailrace.terminal.plots import require_matplotlib

FLIGHTS = Path("include/queries/flights.yaml")
MAP, ENVIRONMENT, CLUSTER = "taxis.png", "env.sh", "cluster"
QUERIES = (FLIGHTS, GAME2, DELAYS, TRADES, COPIES, DISTRICTS, MEETINGS)
_BACKFILL_FUNCTION = """\
airflow() {{  # a backfill is tried again while SQLite is locked
  case "$1" in
    backfill) {python} -m tailrace.orchestration.airflow_command "$@" ;;
    *) command airflow "$@" ;;
  esac
}}
"""


def demonstrate(
    home: Path,
    bounded: bool,
    game2: bool = False,
    topk: bool = False,
    emd: bool = False,
    spatial: bool = False,
    start_s: float = START_S,
    cluster: bool = False,
) -> bool:
    """Start, stream, correct, compare and print the result; True when every final answer is right.

    Parameters
    ----------
    home : Path
        The directory of everything. An earlier demonstration in it is stopped first, and what it made is deleted; what
        others put there stays, and so does the history of their DAGs.
    bounded : bool
        End after that; else go on until Ctrl-C, for people to look around.
    game2 : bool
        Stream the query game2 too, over a stream that is generated for it.
    topk : bool
        Stream two more queries: delays, over the same flights, and trades, over a stream that is generated for it.
    emd : bool
        Stream the query copies: near-duplicate frames of a clip and of its copy.
    spatial : bool
        Stream two more queries: districts, the district of each fix of some taxis, and meetings, those that meet; and
        draw a map of both.
    start_s : float
        Seconds that Airflow may take to start.
    cluster : bool
        Run all of it on a Spark cluster of a master and two workers, which is started too.

    Raises
    ------
    Refused
        When this is no checkout of tailrace, `home` has contents and not the record `.demo` of a demonstration, others
        have something where this one writes, or there is no matplotlib to draw a map with.
    RuntimeError
        When a part of it fails; the message names the part, and where its log is.
    """
    if not (FLIGHTS.exists() and Path("dags").is_dir()):
        raise refuse(str(Path.cwd()), "it is no checkout of tailrace", "the directory that has dags and include")
    load(FLIGHTS)
    if spatial:
        require_matplotlib("--spatial")
    home = home.absolute()
    os.umask(UMASK)
    runners = {FLIGHTS: scenarios.flights}
    runners |= {GAME2: scenarios.game2} if game2 else {}
    runners |= {DELAYS: scenarios.delays, TRADES: scenarios.trades} if topk else {}
    runners |= {COPIES: scenarios.copies} if emd else {}
    runners |= {DISTRICTS: scenarios.districts, MEETINGS: scenarios.meetings} if spatial else {}
    copied = list(runners) if len(runners) > 1 else []
    more = [*([MAP] if spatial else []), *([CLUSTER] if cluster else [])]
    inventory = _start_afresh(home, list(runners), places(copied), more)
    files = declare(home, copied) if copied else [FLIGHTS]
    inventory.complete(places(copied))
    tell = _Steps(2 * len(runners) + 2 + spatial)
    tell(f"starting Airflow{', a Spark cluster' if cluster else ''} and the driver host")
    with ExitStack() as running:
        # Before the driver host, so that it ends after all drivers; they end with the driver host.
        spark_cluster = running.enter_context(EmbeddedCluster(home / CLUSTER)) if cluster else None
        driver_host = running.enter_context(EmbeddedHost(home / "drivers"))
        environment = _environment(home, driver_host, files[0].parent, spark_cluster)
        airflow = EmbeddedAirflow(home / "airflow", Path("dags"), environment, start_s, _print_progress)
        with airflow:
            _write_environment(home, airflow)
            inventory.complete([ENVIRONMENT])
            screen.err.print(f"Airflow is at {airflow.url} , user {USER}, password {airflow.password}", soft_wrap=True)
            demo_queries = [DemoQuery(load(file), home, airflow, airflow.api()) for file in files]
            outcomes = [
                runner(demo_query, tell) for demo_query, runner in zip(demo_queries, runners.values(), strict=True)
            ]
            if spatial:
                tell("drawing a map of the taxis, their districts and those that met")
                of_file = dict(zip(runners, demo_queries, strict=True))
                screen.out.print(f"{draw(home / MAP, of_file[DISTRICTS], of_file[MEETINGS])}", soft_wrap=True)
                inventory.complete([MAP])
            if not bounded:
                look_around(files, home, airflow)
            for demo_query, (run, _) in zip(demo_queries, outcomes, strict=True):
                demo_query.drain(run)
            return all(right for _, right in outcomes)


class _Steps:
    """Prints each step of the demonstration with its number."""

    def __init__(self, steps: int) -> None:
        self._steps, self._number = steps, 0

    def __call__(self, text: str) -> None:
        self._number += 1
        screen.err.rule(f"{self._number} ∕ {self._steps}  {text}")


def _environment(
    home: Path, driver_host: EmbeddedHost, queries: Path, cluster: EmbeddedCluster | None
) -> dict[str, str]:
    """The environment variables by which Airflow and shells find the demonstration."""
    access = driver_host.access
    address = {"host": access.host, "port": access.port, "login": access.user, "password": access.password}
    programs = {"programs": str(driver_host.directory / "programs")}
    master = "local[*]" if cluster is None else cluster.master
    return {
        **({} if cluster is None else cluster.environment),
        KEPT_HOST: str(driver_host.directory),
        "TAILRACE_QUERIES": str(queries.absolute()),
        "TAILRACE_WAREHOUSE": str(home / "tables"),
        "AIRFLOW_CONN_TAILRACE_SPARK": json.dumps({"conn_type": "spark", "host": master}),
        "AIRFLOW_CONN_TAILRACE_DRIVER_HOST": json.dumps(
            {"conn_type": "tailrace_driver_host", **address, "extra": programs}
        ),
    }


def _print_progress(text: str) -> None:
    screen.err.print(text, soft_wrap=True)


def _write_environment(home: Path, airflow: EmbeddedAirflow) -> None:
    """Write the environment to a file for shells; it holds passwords, so it is for this user alone.

    Its umask makes the files that such a shell creates for this user alone, too.
    """
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in airflow.environment.items())
    backfill = _BACKFILL_FUNCTION.format(python=shlex.quote(sys.executable))
    write_atomically(home / ENVIRONMENT, f"umask {UMASK:03o}\n{exports}{backfill}", 0o600)


def _start_afresh(home: Path, files: list[Path], copies: list[str], more: list[str]) -> Inventory:
    """Stop what an earlier demonstration left running in `home`, and delete what it made; record what this one makes.

    Its tables are among that, and the history of its DAGs in Airflow. What others put into `home` stays as it is.

    Parameters
    ----------
    files : list of Path
        The queries, whose tables are written.
    copies, more : list of str
        What else is written, by paths in `home`.

    Raises
    ------
    Refused
        When `home` has contents and no record of a demonstration, or others have something where this one writes.
    """
    inventory = Inventory(home, [*map(_tables, QUERIES), *places(list(QUERIES)), MAP, ENVIRONMENT, CLUSTER])
    written = [*map(_tables, files), *copies, *more, ENVIRONMENT]
    inventory.require_free(written)
    airflow = EmbeddedAirflow(home / "airflow", Path("dags"), {})
    EmbeddedHost(home / "drivers").stop()  # leftovers of a demonstration that was killed
    airflow.kill()
    EmbeddedCluster(home / CLUSTER).stop()
    cleared = set(inventory.clear())
    past = [file.stem for file in QUERIES if _tables(file) in cleared]
    if past:
        forget_dags(airflow, [f"{kind}_{name}" for name in past for kind in DAG_KINDS])
    inventory.begin(written)
    return inventory


def _tables(file: Path) -> str:
    """Return where the tables of a query lie, which has the name of its file."""
    return f"tables/{file.stem}"
