"""Locations: queries, warehouse and Spark apps from the environment, Spark and the driver host from connections."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from airflow.configuration import conf
from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowNotFoundException

from tailrace.drivers.driver_host import DriverHost
from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.ground.files.atomic_files import is_url
from tailrace.orchestration import driver_host_hook
from tailrace.query.loading import parse
from tailrace.query.query import Query
from tailrace.query.yaml_file import read
from tailrace.spark import masters
from tailrace.storage.warehouses import Warehouse

SPARK = "tailrace_spark"
HOST = driver_host_hook.CONNECTION

_ADD_COMMANDS = {
    SPARK: "airflow connections add tailrace_spark --conn-type spark --conn-host 'local[*]'",
    HOST: driver_host_hook.ADD_COMMAND,
}


@dataclass(frozen=True)
class Declared:
    """A query, the file that declares it, and the file's text."""

    file: Path
    query: Query
    text: str

    @staticmethod
    def read(file: Path) -> Declared:
        text = read(file)
        return Declared(file, parse(file, text), text)


def queries() -> Path:
    """Return the directory of the declared queries: TAILRACE_QUERIES, or include/queries beside the DAGs' folder."""
    return _directory("TAILRACE_QUERIES", "include", "queries")


def spark_apps() -> Path:
    """Return the directory of the Spark apps' entry points: TAILRACE_SPARK_APPS, or spark_apps beside the DAGs."""
    return _directory("TAILRACE_SPARK_APPS", "spark_apps")


def warehouse() -> Warehouse:
    """Return the directory with the tables of all queries, or the URL of one in an object store: TAILRACE_WAREHOUSE.

    Raises
    ------
    Refused
        When it is not set, or is relative: each process of Airflow would resolve it to another directory.
    """
    value = os.environ.get("TAILRACE_WAREHOUSE", "")
    if is_url(value):
        return value
    if not Path(value).is_absolute():
        fault = f"{value} is relative, and Airflow's processes run in many places" if value else "it is not set"
        remedy = "the path of the directory of all tables, in the environment of Airflow and of the driver host"
        raise refuse("environment variable TAILRACE_WAREHOUSE", fault, remedy)
    return Path(value)


def declared(read_file: Callable[[Path], Declared] = Declared.read) -> tuple[list[Declared], list[Problem]]:
    """Return every declared query, in order of file names, and the problems of the other query files.

    Files that share a query's name are all refused: the order of file names must not decide.
    """
    by_name, problems = _by_name(read_file)
    for name, sharing in by_name.items():
        for each in sharing if len(sharing) > 1 else ():
            others = " and ".join(other.file.name for other in sharing if other is not each)
            fault = f"{name} is declared in {others}, too: none of them is taken"
            problems.append(Problem(f"{each.file}: name", fault, "a name of its own for each query"))
    return [sharing[0] for sharing in by_name.values() if len(sharing) == 1], problems


def clash(name: str) -> str | None:
    """Describe the query files that share a name; None if at most one has it."""
    by_name, _ = _by_name(Declared.read)
    files = [each.file.name for each in by_name.get(name, ())]
    return f"{len(files)} query files are called {name}: {' and '.join(files)}; keep one" if files[1:] else None


def _by_name(read_file: Callable[[Path], Declared]) -> tuple[dict[str, list[Declared]], list[Problem]]:
    """Read all query files; return the queries by name, in order of file names, and the problems of faulty files."""
    by_name: dict[str, list[Declared]] = {}
    problems: list[Problem] = []
    for file in sorted(queries().glob("*.y*ml")):
        try:
            declaration = read_file(file)
        except Refused as refused:
            problems += refused.problems
            continue
        by_name.setdefault(declaration.query.name, []).append(declaration)
    return by_name, problems


def find(name: str) -> Declared:
    """Return the declared query of this name.

    Raises
    ------
    Refused
        When there is none, or its file is faulty.
    """
    declarations, problems = declared()
    for declaration in declarations:
        if declaration.query.name == name:
            return declaration
    if problems:  # a faulty file may be the one that declares it
        raise Refused(problems)
    names = [declaration.query.name for declaration in declarations]
    remedy = " or ".join(get_close_matches(name, names) or names) or "a query file in that directory"
    raise refuse(f"query {name}", f"none of this name is declared in {queries()}", remedy)


def connection(conn_id: str) -> Connection:
    """Return one of Airflow's connections, from a task, a trigger or a shell.

    Raises
    ------
    Refused
        When Airflow does not know it.
    """
    try:
        return BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        add_command = _ADD_COMMANDS.get(conn_id, f"airflow connections add {conn_id} --conn-type …")
        remedy = f"{add_command}; or the environment variable AIRFLOW_CONN_{conn_id.upper()}"
        raise refuse(f"connection {conn_id}", "Airflow knows none of this name", remedy) from None


def driver_host() -> DriverHost:
    """Return the driver host of the connection `tailrace_driver_host`, without contacting it.

    Raises
    ------
    Refused
        When the connection is missing or incomplete.
    """
    return driver_host_hook.host_of(connection(HOST))


def spark_master() -> str:
    """Return the master of the connection `tailrace_spark` without its port; a local master has none.

    Raises
    ------
    Refused
        When Airflow does not know the connection: the provider's hook would fall back to YARN.
    """
    return connection(SPARK).host or ""


def spark_environment() -> dict[str, str]:
    """Return environment variables for spark-submit: this Python, its programs first on the path, quiet logging."""
    programs = str(Path(sys.executable).parent)
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYSPARK_PYTHON": sys.executable,
        **masters.environment(spark_master()),
    }


def use_in_shell() -> None:
    """Let a shell also read connections from Airflow's database, which a task may not do."""
    os.environ.setdefault("_AIRFLOW_PROCESS_CONTEXT", "server")


def _directory(variable: str, *relative_path: str) -> Path:
    value = os.environ.get(variable)
    path = (
        Path(value) if value else Path(conf.get_mandatory_value("core", "dags_folder")).parent.joinpath(*relative_path)
    )
    if not path.is_dir():
        raise refuse(f"{variable}={value}" if value else str(path), "it is no directory", f"{variable}, a directory")
    return path.absolute()
