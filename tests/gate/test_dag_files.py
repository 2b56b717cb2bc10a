"""The DAG files, all parsed in this process: the DAGs of declared queries, and the import error of a wrong one."""

from __future__ import annotations

from kit.parts import airflow_home  # isort: skip  (before any module that imports airflow)

from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization

from kit.fakes.fake_host import QUERY, declare

assert airflow_home.HOME
pytestmark = [pytest.mark.gate, pytest.mark.needs("airflow"), pytest.mark.xdist_group("airflow gate")]

DAGS = Path(__file__).parents[2] / "dags"
REFUSALS = "refused_queries.py"
"""The file that has no DAGs but the import error of wrong queries."""
TABLE_JOIN = """\
name: {name}
kind: spatial_join
streams:
  left: {{source: {{format: parquet, path: fixes}}, event_time: at, arrival_time: came, id: id}}
spatial_join:
  join: table
  geometry: {{left: {{x: lon, y: lat}}}}
  relation: within
  table: {{path: zones.geojson}}
"""
OF_RIGHT = {f"{part}_right" for part in ("stream", "correct", "calibrate", "publish", "rebuild")}


@pytest.fixture
def queries(tmp_path, monkeypatch):
    monkeypatch.setenv("TAILRACE_QUERIES", str(tmp_path))
    monkeypatch.setenv("AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT", "0")  # none: a busy machine makes no test red
    declare(tmp_path, "right")
    return tmp_path


def test_every_file_parses_and_gives_the_dags_of_all_queries(queries):
    declare(queries, "zones", TABLE_JOIN)
    bag = DagBag(DAGS, load_op_links=False)
    assert not bag.import_errors
    assert set(bag.dags) == OF_RIGHT | {"stream_zones", "publish_zones", "rebuild_zones"}
    with_dags = {Path(dag.fileloc).name for dag in bag.dags.values()}
    assert with_dags | {REFUSALS} == {file.name for file in DAGS.glob("*.py")}
    for dag in bag.dags.values():
        DagSerialization.to_dict(dag)


def test_a_wrong_query_is_an_import_error_and_breaks_no_other(queries):
    wrong_file = declare(queries, "wrong", QUERY.replace("size: 2 h", "size: 2"))
    bag = DagBag(DAGS, load_op_links=False)
    assert set(bag.dags) == OF_RIGHT
    [(file, error)] = bag.import_errors.items()
    assert Path(file).name == REFUSALS
    assert f"{wrong_file}:9: window.size: 2 has no unit" in error
