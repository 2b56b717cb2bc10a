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
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

from tailrace.bench.plots import require_matplotlib
from tailrace.demo import courses
from tailrace.demo.generated_data import COPIES, DELAYS, DISTRICTS, GAME2, MEETINGS, TRADES, declare
from tailrace.demo.narration import look_around
from tailrace.demo.scenes import Scene
from tailrace.demo.spatial_map import draw
from tailrace.drivers.embedded import UMASK, EmbeddedHost
from tailrace.drivers.embedded_cluster import EmbeddedCluster
from tailrace.ground.errors import refuse
from tailrace.ground.files import write_atomically
from tailrace.orchestration.airflow_parts import KEPT_HOST
from tailrace.orchestration.embedded_airflow import START_S, USER, EmbeddedAirflow
from tailrace.query.loading import load
from tailrace.terminal import screen

FLIGHTS = Path("include/queries/flights.yaml")
MAP = "taxis.png"
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
        The directory of everything. An earlier demonstration in it is stopped first, and all that it holds is deleted.
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
        When this is no checkout of tailrace, `home` has contents and not the mark `.demo` of a demonstration, or there
        is no matplotlib to draw a map with.
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
    _start_afresh(home)
    runners = {FLIGHTS: courses.flights}
    runners |= {GAME2: courses.game2} if game2 else {}
    runners |= {DELAYS: courses.delays, TRADES: courses.trades} if topk else {}
    runners |= {COPIES: courses.copies} if emd else {}
    runners |= {DISTRICTS: courses.districts, MEETINGS: courses.meetings} if spatial else {}
    files = declare(home, list(runners)) if len(runners) > 1 else [FLIGHTS]
    tell = _Steps(2 * len(runners) + 2 + spatial)
    tell(f"starting Airflow{', a Spark cluster' if cluster else ''} and the driver host")
    with ExitStack() as running:
        # Before the driver host, so that it ends after all drivers; they end with the driver host.
        spark_cluster = running.enter_context(EmbeddedCluster(home / "cluster")) if cluster else None
        driver_host = running.enter_context(EmbeddedHost(home / "drivers"))
        environment = _environment(home, driver_host, files[0].parent, spark_cluster)
        airflow = EmbeddedAirflow(home / "airflow", Path("dags"), environment, start_s, _print_progress)
        with airflow:
            _write_environment(home, airflow)
            screen.err.print(f"Airflow is at {airflow.url} , user {USER}, password {airflow.password}", soft_wrap=True)
            scenes = [Scene(load(file), home, airflow, airflow.api()) for file in files]
            outcomes = [runner(scene, tell) for scene, runner in zip(scenes, runners.values(), strict=True)]
            if spatial:
                tell("drawing a map of the taxis, their districts and those that met")
                of_file = dict(zip(runners, scenes, strict=True))
                screen.out.print(f"{draw(home / MAP, of_file[DISTRICTS], of_file[MEETINGS])}", soft_wrap=True)
            if not bounded:
                look_around(files, home, airflow)
            for scene, (run, _) in zip(scenes, outcomes, strict=True):
                scene.drain(run)
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
    write_atomically(home / "env.sh", f"umask {UMASK:03o}\n{exports}{backfill}", 0o600)


def _start_afresh(home: Path) -> None:
    """Stop what an earlier demonstration left running in `home`, delete `home`, and make it anew with the mark `.demo`.

    All that `home` holds is deleted. A directory with contents and without that mark is refused.
    """
    mark = home / ".demo"
    if home.exists() and any(home.iterdir()) and not mark.exists():
        raise refuse(f"--warehouse {home}", "it holds what no demonstration made", "another directory")
    EmbeddedHost(home / "drivers").stop()  # leftovers of a demonstration that was killed
    EmbeddedAirflow(home / "airflow", Path("dags"), {}).kill()
    EmbeddedCluster(home / "cluster").stop()
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    mark.touch()
