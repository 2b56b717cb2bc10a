"""The commands where only the core is installed: the local path runs, and all else names the extra that it needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import NamedTuple

import pytest

from tailrace.api.engines import ENGINE
from tailrace.ground.extras import EXTRAS

TUPLES = """id,at,came,key,value
1,2024-01-01T00:00:01Z,2024-01-01T00:00:02Z,a,1
2,2024-01-01T00:00:03Z,2024-01-01T00:00:04Z,b,2
3,2024-01-01T00:10:03Z,2024-01-01T00:10:04Z,b,2
4,2024-01-01T00:00:04Z,2024-01-01T00:10:05Z,b,5
"""
QUERY = """
name: totals
kind: aggregate
streams:
  events:
    source: {format: csv, path: events.csv}
    event_time: at
    arrival_time: came
    id: id
    key: key
window: 1 min
disorder: {policy: k_slack, k: 1 s}
aggregate: {function: sum, column: value}
"""
PAIRS = """
name: pairs
kind: KIND
streams:
  left: {source: {format: csv, path: events.csv}, event_time: at, arrival_time: came, id: id}
  right: {source: {format: csv, path: events.csv}, event_time: at, arrival_time: came, id: id}
"""
EMD = PAIRS.replace("KIND", "emd_join") + "window: 1 min\nemd_join: {histogram: value, threshold: 0.5, span: 15}\n"
NEAR = "{join: window, geometry: {left: {x: value, y: value}, right: {x: value, y: value}}, relation: intersects}"
SPATIAL = PAIRS.replace("KIND", "spatial_join") + f"window: 1 min\nspatial_join: {NEAR}\n"
KAFKA = QUERY.replace("{format: csv, path: events.csv}", "{format: kafka, servers: 'broker:9092', topic: events}")
POSTGRES = QUERY + "answers: {postgres: {connection: reports, table: totals}}\n"
WHERE = QUERY.replace("    key: key\n", "    key: key\n    where: value > 1\n")
SQL = QUERY[: QUERY.index("    key:")].replace("kind: aggregate\n", "") + "sql: SELECT sum(value) FROM events\n"


QUERIES = {"query": QUERY, "where": WHERE, "sql": SQL, "kafka": KAFKA, "postgres": POSTGRES}
QUERIES |= {"emd": EMD, "spatial": SPATIAL}

OF_LOCAL_PATH = [
    "validate query.yaml",
    "run query.yaml --warehouse out --bounded --engine local",
    "results query.yaml --warehouse out --format csv",
    "correct query.yaml --warehouse out --engine local",
    "results totals --warehouse out --format csv",
    "quality query.yaml --warehouse out",
    "explain query.yaml",
    "late totals --warehouse out",
    "status --warehouse out",
]
REFUSED = {
    "run query.yaml --warehouse new --bounded": ("--engine spark: PySpark", "spark"),
    "correct query.yaml --warehouse new": ("--engine spark: PySpark", "spark"),
    "run where.yaml --warehouse new --engine local": (
        "where.yaml:11: streams.events.where: 1:1: sqlglot",
        "sql",
    ),
    "run sql.yaml --warehouse new --engine local": ("sql.yaml:9: sql, at 1:1: sqlglot", "sql"),
    "run kafka.yaml --warehouse new --engine local": (
        "kafka.yaml:6: streams.events.source: confluent-kafka",
        "kafka",
    ),
    "run postgres.yaml --warehouse new --engine local": ("answers.postgres: psycopg2-binary", "postgres"),
    "run emd.yaml --warehouse new --engine local": ("emd.yaml:8: emd_join: POT", "emd"),
    "run spatial.yaml --warehouse new --engine local": ("spatial.yaml:8: spatial_join: shapely", "spatial"),
    "plot query.yaml --warehouse out --output totals.png": ("tailrace plot: matplotlib", "plots"),
    "deploy totals": ("tailrace deploy: psutil", "airflow"),
    "status": ("tailrace status: psutil", "airflow"),
}
SCRIPT = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
hidden, commands = map(json.loads, sys.argv[1:])
from kit.suite.hidden_modules import hide
hide(hidden)
from tailrace.cli import commands as cli, leaving
leaving.leave = lambda code, waits=True: sys.exit(code)
done = {}
for command in commands:
    sys.argv = ["tailrace", *command.split()]
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            cli.main()
        except SystemExit as end:
            done[command] = (end.code or 0, out.getvalue(), err.getvalue())
print(json.dumps(done))
"""


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Run the commands in a process without the modules of any extra."""
    directory = tmp_path_factory.mktemp("core")
    (directory / "events.csv").write_text(TUPLES)
    for name, text in QUERIES.items():
        (directory / f"{name}.yaml").write_text(text)
    hidden = [*{module for modules in EXTRAS.values() for module in modules}, "numba", "llvmlite", "py4j"]
    words = [json.dumps(hidden), json.dumps([*OF_LOCAL_PATH, *REFUSED])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "400"}
    environment.pop(ENGINE, None)
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert not (directory / "new").exists(), "a refused command wrote"
    return {command: Done(*ended) for command, ended in json.loads(process.stdout).items()}


@pytest.mark.needs("process")
def test_the_local_path_needs_no_extra(done):
    assert {command: done[command].err for command in OF_LOCAL_PATH if done[command].code} == {}
    streamed, corrected = (done[command].out.splitlines() for command in OF_LOCAL_PATH if "csv" in command)
    assert [line.split(",")[3] for line in streamed] == ['"value"', "1", "2", "2"]
    assert [line.split(",")[3] for line in corrected] == ['"value"', "1", "7", "2"]
    assert "sqlglot is not installed" in done["explain query.yaml"].out


@pytest.mark.needs("process")
@pytest.mark.parametrize("command", REFUSED)
def test_what_needs_an_extra_names_it(done, command):
    ended, (place, extra) = done[command], REFUSED[command]
    assert ended.code == 2, ended
    assert f"{place} is not installed" in ended.err
    assert f"right would be: the extra: pip install 'tailrace[{extra}]'" in ended.err
