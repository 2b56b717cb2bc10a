"""An embedded platform in a folder: Airflow, a driver host and a warehouse, for the demo and for `tailrace serve`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from importlib import metadata
from pathlib import Path
from typing import Any, Self

import tailrace
from tailrace.drivers.launch import forget_restarts
from tailrace.drivers.programs import home_of
from tailrace.embedded.embedded_airflow import START_S, EmbeddedAirflow
from tailrace.embedded.embedded_cluster import EmbeddedCluster
from tailrace.embedded.embedded_processes import EmbeddedHost
from tailrace.embedded.platform_environment import environment_variables, write_environment
from tailrace.ground.errors import refuse
from tailrace.storage.warehouses import location_of

DRIVERS, AIRFLOW, CLUSTER = "drivers", "airflow", "cluster"
"""The directories in the folder."""

_GOODBYE_S = 30.0  # for drivers to end after SIGTERM; a batch that does not end is run again by the next start


class EmbeddedPlatform:
    """A platform on ports of loopback; as a context manager it starts all of it, and stops it at the end.

    The driver host starts before Airflow and ends after it, so that no watch takes the end of a driver for a crash.

    Parameters
    ----------
    home : Path
        The folder of Airflow, the driver host, and the file with the environment for shells.
    queries, warehouse : Path
        The directory of the query files, and the one of the tables.
    connections : mapping
        Further variables AIRFLOW_CONN_NAME, which may hold secrets: the file for shells does not have them.
    start_s : float
        Time limit of Airflow's start, in s.
    echo : callable
        Called with lines of progress.
    has_cluster : bool
        Start a Spark cluster, too, on which drivers run.
    keeps_drivers : bool
        Whether drivers that run at the end are started again by the next start.

    Attributes
    ----------
    port : int or None
        The port of Airflow from the next start on; None for a free one.
    """

    def __init__(
        self,
        home: Path,
        queries: Path,
        warehouse: Path,
        connections: Mapping[str, str] | None = None,
        start_s: float = START_S,
        echo: Callable[[str], Any] = lambda line: None,
        has_cluster: bool = False,
        keeps_drivers: bool = False,
    ) -> None:
        self.home, self._queries, self._warehouse = home, queries, warehouse
        self._connections = connections or {}
        self._keeps_drivers, self._has_cluster = keeps_drivers, has_cluster
        self._start_s, self._echo = start_s, echo
        self._dags = airflow_files() / "dags"
        self.port: int | None = None
        self.driver_host = EmbeddedHost(home / DRIVERS)
        self._running = ExitStack()

    def __enter__(self) -> Self:
        """Start all of it; what has started is stopped if something fails."""
        with ExitStack() as starting:
            # The cluster starts first, so that it ends after the driver host and its drivers.
            cluster = starting.enter_context(EmbeddedCluster(self.home / CLUSTER)) if self._has_cluster else None
            starting.callback(self._stop_drivers)
            self.driver_host.start()
            ours = environment_variables(self.driver_host, self._queries, self._warehouse, cluster)
            environment = {**ours, **self._connections}
            self.airflow = EmbeddedAirflow(
                self.home / AIRFLOW, self._dags, environment, self._start_s, self._echo, port=self.port
            )
            starting.enter_context(self.airflow)
            variables = self.airflow.environment.items()
            write_environment(self.home, {name: text for name, text in variables if name not in self._connections})
            self._running = starting.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def drivers(self) -> list[str]:
        """Return the names of the queries that have a driver on the driver host."""
        return sorted(name.partition(".")[0] for name in self.driver_host.host.names())

    def kill_leftovers(self) -> None:
        """Kill an Airflow that a killed predecessor of this process has left running; its drivers go on."""
        EmbeddedAirflow(self.home / AIRFLOW, self._dags, {}).kill()

    def _stop_drivers(self) -> None:
        self.driver_host.stop(_GOODBYE_S, keeps_programs=self._keeps_drivers)
        for program in (self.driver_host.directory / "programs").glob("*.conf") if self._keeps_drivers else ():
            if home := home_of(program.read_text(encoding="utf-8")):
                forget_restarts(location_of(home))  # stopping and starting with the platform is no crash


FOLDERS = ("dags", "plugins", "spark_apps")
"""The folders that Airflow loads; they lie beside each other."""

_DAG_FILE = "share/tailrace/dags/streams.py"  # the place of one in a wheel, below the environment


def airflow_files() -> Path:
    """Return the directory that holds `FOLDERS`: the checkout, or where the wheel was installed.

    Raises
    ------
    Refused
        When neither has them.
    """
    checkout = Path(tailrace.__file__).resolve().parents[2]
    for directory in (checkout, *_of_wheel()):
        if all((directory / name).is_dir() for name in FOLDERS):
            return directory
    remedy = "the wheel, installed by pip or uv, or a checkout of tailrace's repository"
    raise refuse(f"tailrace in {checkout}", f"it has no {' and no '.join(FOLDERS)} for Airflow to load", remedy)


def _of_wheel() -> Iterator[Path]:
    """Yield the directory of the folders installed by the wheel, by its list of files."""
    for distribution in metadata.distributions(name="tailrace"):
        for file in distribution.files or ():
            if str(file).endswith(_DAG_FILE):
                yield Path(str(file.locate())).resolve().parents[1]
