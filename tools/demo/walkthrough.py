"""The demonstration: the platform as its users have it, on a laptop, over a sample of real flights.

Airflow and a driver host start on free ports of loopback; a stream is deployed, watched, corrected by a backfill, and
every answer is compared with the truth. Beside it two queries of one stream go on for as long as people look, unless
the demonstration ends by itself. On request there are other streams: one whose corrections start by themselves while it
goes on, two of top-k queries, of which one is calibrated while it goes on, a join of two films, two joins of taxis:
with the districts of Beijing, and with one another; and one between two topics of a Kafka broker.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.kafka.broker import kill_broker
from demo import scenarios
from demo.demonstrated_query import DemoQuery
from demo.generated_data import (
    COPIES,
    DELAYS,
    DISTRICTS,
    GAME2,
    MEETINGS,
    METERS,
    TRADES,
    declare,
    entries,
    finished_entries,
    sent_files,
)
from demo.inventory import Inventory
from demo.living_stream import LIVING, LivingStream, first_payment_ms, now_ms
from demo.look_around import look_around
from demo.spatial_map import draw
from demo.topics import Topics
from tailrace.embedded.embedded_airflow import START_S, USER, EmbeddedAirflow
from tailrace.embedded.embedded_cluster import EmbeddedCluster
from tailrace.embedded.embedded_platform import AIRFLOW, CLUSTER, DRIVERS, EmbeddedPlatform
from tailrace.embedded.embedded_processes import UMASK, EmbeddedHost
from tailrace.embedded.forget_dags import forget_dags
from tailrace.embedded.platform_environment import ENVIRONMENT
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.extras import require_extra
from tailrace.ground.files.held_directory import held_directory
from tailrace.orchestration.addresses import DAG_KINDS
from tailrace.query.loading import load
from tailrace.terminal import screen

FLIGHTS = Path("include/queries/flights.yaml")
MAP, BROKER = "taxis.png", "kafka"
QUERIES = (FLIGHTS, GAME2, DELAYS, TRADES, COPIES, DISTRICTS, MEETINGS, METERS)
Runner = Callable[[DemoQuery, scenarios.Echo], tuple[str, bool]]


def demonstrate(
    home: Path,
    bounded: bool,
    game2: bool = False,
    topk: bool = False,
    emd: bool = False,
    spatial: bool = False,
    start_s: float = START_S,
    cluster: bool = False,
    kafka: bool = False,
) -> bool:
    """Start, stream, correct, compare and print the result; True when every final answer is right.

    Parameters
    ----------
    home : Path
        The directory of everything. An earlier demonstration in it is stopped first, and its files are deleted;
        files of others stay, and so does the history of their DAGs.
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
    kafka : bool
        Stream the query meters, too: from a topic to a topic of a Kafka broker, which is started.

    Raises
    ------
    Refused
        When this is no checkout of tailrace, or one without the flights; `home` can't be written to, or has contents
        and not the record `.demo` of a demonstration; another one runs there; others have something where this one
        writes; or there is no matplotlib to draw a map with.
    RuntimeError
        When a part of it fails; the message names the part, and where its log is.
    """
    if not (FLIGHTS.parent.is_dir() and Path("dags").is_dir()):
        raise refuse(str(Path.cwd()), "it is no checkout of tailrace", "the directory that has dags and include")
    _require_sample(load(FLIGHTS).stream[1].path)
    if spatial:
        require_extra("--spatial", "plots")
    home = home.absolute()
    os.umask(UMASK)
    with held_directory(home, f"--warehouse {home}", lambda: _in_use(home)):
        runners = _runners(game2, topk, emd, spatial, kafka)
        return _demonstrate(home, runners, bounded, spatial, start_s, cluster)


def _in_use(home: Path) -> Refused:
    fault = "a demonstration runs there, and its next one would end it"
    return refuse(f"--warehouse {home}", fault, "Ctrl-C where it runs, or another directory")


def _require_sample(flights: Path) -> None:
    """Refuse to start without the flights; otherwise their stream would fail minutes later."""
    if not any(flights.glob("*.parquet")):
        raise refuse(f"{FLIGHTS}: {flights}", "there are no flights", "the files of the checkout: git checkout samples")


def _runners(game2: bool, topk: bool, emd: bool, spatial: bool, kafka: bool) -> dict[Path, Runner]:
    """Return what is asked for: the functions that run the queries, by the queries' files."""
    runners: dict[Path, Runner] = {FLIGHTS: scenarios.flights}
    runners |= {GAME2: scenarios.game2} if game2 else {}
    runners |= {DELAYS: scenarios.delays, TRADES: scenarios.trades} if topk else {}
    runners |= {COPIES: scenarios.copies} if emd else {}
    runners |= {DISTRICTS: scenarios.districts, MEETINGS: scenarios.meetings} if spatial else {}
    runners |= {METERS: scenarios.meters} if kafka else {}
    return runners


def _demonstrate(
    home: Path, runners: dict[Path, Runner], bounded: bool, spatial: bool, start_s: float, cluster: bool
) -> bool:
    """Run the demonstration in a directory that it holds."""
    queries = [*runners, *([] if bounded else LIVING)]
    copied = queries if len(queries) > 1 else []
    kafka = METERS in runners
    parts = {MAP: spatial, CLUSTER: cluster, BROKER: kafka}
    inventory = _start_afresh(home, queries, entries(copied), [folder for folder, wanted in parts.items() if wanted])
    echo = _Steps(2 * len(runners) + 2 + spatial + len(queries) - len(runners))
    started = ["Airflow", *(["a Spark cluster"] if cluster else []), *(["a Kafka broker"] if kafka else [])]
    echo(f"starting {', '.join(started)} and the driver host")
    with ExitStack() as running:
        topics = running.enter_context(Topics(home / BROKER)) if kafka else None  # it ends after all drivers
        files = declare(home, copied, topics.servers if topics else "") if copied else [FLIGHTS]
        inventory.complete(finished_entries(copied))
        if topics:
            topics.make(load(files[copied.index(METERS)]))
        platform = EmbeddedPlatform(
            home, files[0].parent, home / "tables", start_s=start_s, echo=_print_progress, has_cluster=cluster
        )
        airflow = running.enter_context(platform).airflow
        inventory.complete([ENVIRONMENT])
        screen.err.print(f"Airflow is at {airflow.url} , user {USER}, password {airflow.password}", soft_wrap=True)
        sent = {METERS.name: sent_files(home, METERS)}
        demo_queries = [DemoQuery(load(file), home, airflow, airflow.api(), sent.get(file.name)) for file in files]
        living = None if bounded else _Living(demo_queries[len(runners) :], running)
        if living is not None:
            runners = runners | {FLIGHTS: living.beside_flights}
        outcomes = [
            runner(demo_query, echo) for demo_query, runner in zip(demo_queries, runners.values(), strict=False)
        ]
        if spatial:
            echo("drawing a map of the taxis, their districts and those that met")
            of_file = dict(zip(runners, demo_queries, strict=False))
            screen.out.print(f"{draw(home / MAP, of_file[DISTRICTS], of_file[MEETINGS])}", soft_wrap=True)
            inventory.complete([MAP])
        if living is not None:
            living.await_corrections(echo)
            look_around(demo_queries[0], living.demo_queries, demo_queries[1 : len(runners)])
        for demo_query, (run, _) in zip(demo_queries, outcomes, strict=True):
            demo_query.drain(run)
        return all(right for _, right in outcomes)


class _Living:
    """The queries of `LIVING`, which read the same payments beside the others, until `running` ends.

    Their drivers start one after the other, as several starts at once take longer.
    """

    def __init__(self, demo_queries: list[DemoQuery], running: ExitStack) -> None:
        self.demo_queries, self._running, self._runs = demo_queries, running, list[str]()

    def beside_flights(self, flights: DemoQuery, echo: scenarios.Echo) -> tuple[str, bool]:
        """Run the flights. Deploy the first query beside them, and the others after them."""
        outcome = scenarios.flights(flights, echo, begun=self._begin)
        for demo_query in self.demo_queries[1:]:
            demo_query.await_scheduled_calibration()  # later it would mend the promise that is to be seen broken
            self._runs.append(scenarios.payments(demo_query))
        return outcome

    def await_corrections(self, echo: scenarios.Echo) -> None:
        """Wait for the first correction of each query."""
        for demo_query, run in zip(self.demo_queries, self._runs, strict=True):
            echo(f"[bold]correct_{demo_query.name}[/]: late payments, by its schedule, while others come")
            demo_query.await_scheduled_correction(run)

    def _begin(self) -> None:
        """Start the payments, and deploy the first query.

        All are unpaused at once, so that each has a correction of the first interval.
        """
        first = self.demo_queries[0]
        self._running.enter_context(LivingStream(first.query.stream[1].path, first_payment_ms(now_ms())))
        for demo_query in self.demo_queries:
            demo_query.unpause()
        self._runs.append(scenarios.payments(first))


class _Steps:
    """Prints each step of the demonstration with its number."""

    def __init__(self, steps: int) -> None:
        self._steps, self._number = steps, 0

    def __call__(self, text: str) -> None:
        self._number += 1
        screen.err.rule(f"{self._number} ∕ {self._steps}  {text}")


def _print_progress(text: str) -> None:
    screen.err.print(text, soft_wrap=True)


def _start_afresh(home: Path, files: list[Path], copies: list[str], more: list[str]) -> Inventory:
    """Stop an earlier demonstration's processes in `home`, and delete its files; record this one's files.

    This includes its tables, and the history of its DAGs in Airflow. Other files in `home` are left alone.

    Parameters
    ----------
    files : list of Path
        The queries, whose tables are written.
    copies, more : list of str
        Other written files, by paths in `home`.

    Raises
    ------
    Refused
        When `home` has contents and no record of a demonstration, or others have something where this one writes.
    """
    inventory = Inventory(home)
    written = [*map(_tables, files), *copies, *more, ENVIRONMENT]
    inventory.require_free(written)
    airflow = EmbeddedAirflow(home / AIRFLOW, Path("dags"), {})
    EmbeddedHost(home / DRIVERS).stop()  # leftovers of a demonstration that was killed
    airflow.kill()
    EmbeddedCluster(home / CLUSTER).stop()
    kill_broker(home / BROKER)
    cleared = set(inventory.clear())
    past = [file.stem for file in (*QUERIES, *LIVING) if _tables(file) in cleared]
    if past:
        forget_dags(airflow, [f"{kind}_{name}" for name in past for kind in DAG_KINDS])
    inventory.begin(written)
    return inventory


def _tables(file: Path) -> str:
    """Return the directory of a query's tables, which has the name of its file."""
    return f"tables/{file.stem}"
