"""The DAG files: what Airflow finds in them, how their forms look, how fast they are, and what a wrong query does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from airflow._shared.module_loading import import_string
from airflow.dag_processing.dagbag import DagBag
from airflow.exceptions import ParamValidationError
from airflow.sdk import CronDataIntervalTimetable, CronTriggerTimetable
from airflow.serialization.serialized_objects import DagSerialization
from pendulum import datetime

from airflow_home import HOME
from fake_host import QUERY, declare
from tailrace.orchestration.gap_trigger import GapTrigger

DAGS = Path(__file__).parents[2] / "dags"
FILES = ("calibrations.py", "corrections.py", "refused_queries.py", "streams.py")
TAGS = {"stream": "stream", "correct": "correction", "calibrate": "calibration"}
# Parses each DAG file as the DAG processor does: in a fork of a process that has imported airflow.
PARSE = """
import json, os, sys, time
start = time.process_time()
import airflow.sdk
imported = time.process_time() - start
from airflow.dag_processing.dagbag import DagBag
from airflow.dag_processing.processor import _serialize_dags, _pre_import_airflow_modules
import structlog

folder = sys.argv[1]
for name in sorted(os.listdir(folder)):
    if name.endswith(".py"):
        file = os.path.join(folder, name)
        _pre_import_airflow_modules(file, structlog.get_logger())
        if os.fork() == 0:
            began = time.process_time()  # of this process alone, however busy the machine is
            bag = DagBag(file, load_op_links=False)
            _, errors = _serialize_dags(bag, structlog.get_logger())
            took = (time.process_time() - began) / imported
            slow = [module for module in ("pyspark", "pandas", "deltalake") if module in sys.modules]
            print("FOUND", json.dumps([name, sorted(bag.dags), bag.import_errors | errors, took, slow]), flush=True)
            os._exit(0)
        os.wait()
"""


@pytest.fixture
def queries(tmp_path, monkeypatch):
    monkeypatch.setenv("TAILRACE_QUERIES", str(tmp_path))
    return tmp_path


def found(**environment):
    """Of each DAG file: its DAGs, its import errors, what it took, and slow modules that it imported.

    What it took is CPU time, as a share of that of importing `airflow.sdk`, which a slow machine slows alike.
    """
    run = subprocess.run(
        [sys.executable, "-c", PARSE, str(DAGS)],
        env=os.environ | {"AIRFLOW_HOME": HOME} | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    lines = [json.loads(line[6:]) for line in run.stdout.splitlines() if line.startswith("FOUND ")]
    return {name: rest for name, *rest in lines}


def load():
    bag = DagBag(DAGS, load_op_links=False)
    assert not bag.import_errors
    return bag.dags


def test_the_repositorys_own_queries_are_found_beside_the_dags():
    environment = {name: value for name, value in os.environ.items() if name != "TAILRACE_QUERIES"}
    assert "TAILRACE_QUERIES" not in environment
    parsed = found(AIRFLOW__CORE__DAGS_FOLDER=str(DAGS))
    assert tuple(parsed) == FILES
    assert "stream_flights" in parsed["streams.py"][0]
    assert "correct_flights" in parsed["corrections.py"][0]
    assert "calibrate_flights" in parsed["calibrations.py"][0]
    assert not any(errors for _, errors, *_ in parsed.values())


def test_ten_queries_parse_in_half_the_time_of_importing_airflow(queries):
    names = [f"query_{number}" for number in range(10)]
    for name in names:
        declare(queries, name, GAP)
    parsed = found()
    assert parsed["streams.py"][0] == [f"stream_{name}" for name in names]
    assert parsed["corrections.py"][0] == [f"correct_{name}" for name in names]
    assert parsed["calibrations.py"][0] == [f"calibrate_{name}" for name in names]
    for name, (_, errors, took, slow) in parsed.items():
        assert not errors, name
        assert took < 0.5, name
        assert not slow, name


def test_a_wrong_query_is_told_and_takes_no_other_down(queries):
    declare(queries, "right")
    wrong = declare(queries, "wrong", QUERY.replace("size: 2 h", "size: 2"))
    parsed = found()
    assert parsed["streams.py"][:2] == [["stream_right"], {}]
    assert parsed["corrections.py"][:2] == [["correct_right"], {}]
    assert parsed["calibrations.py"][:2] == [["calibrate_right"], {}]
    dags, errors, *_ = parsed["refused_queries.py"]
    assert dags == []
    [error] = errors.values()
    assert f"{wrong}:9: window.size: 2 has no unit\n    right would be: write 2 ms" in error


def test_of_two_queries_of_one_name_the_second_is_told(queries):
    declare(queries, "a", QUERY.replace("{name}", "same"))
    declare(queries, "b", QUERY.replace("{name}", "same"))
    bag = DagBag(DAGS, load_op_links=False)
    assert set(bag.dags) == {"stream_same", "correct_same", "calibrate_same"}
    [error] = bag.import_errors.values()
    assert "b.yaml: name: same is declared in a.yaml already" in error


GAP = QUERY + "correction: {{schedule: '@hourly', gap: 90 s}}\n"


@pytest.fixture
def dags(queries):
    declare(queries, "first")
    declare(queries, "second", QUERY + "correction: {{schedule: '30 1 * * 1'}}\n")
    return load()


def test_each_query_has_its_three_dags(dags):
    assert set(dags) == {
        f"{does}_{name}" for does in ("stream", "correct", "calibrate") for name in ("first", "second")
    }
    for name in ("stream_first", "stream_second"):
        assert set(dags[name].task_ids) == {"check", "deploy", "supervise", "drain"}
        assert dags[name].schedule is None
    for name, cron in (("correct_first", "@daily"), ("correct_second", "30 1 * * 1")):
        dag = dags[name]
        assert dag.get_task("correct").upstream_task_ids == {"wait"}
        assert dag.timetable == CronDataIntervalTimetable(cron, timezone="UTC")
        assert (dag.catchup, dag.start_date.year) == (False, 1970)


def test_where_a_gap_is_declared_the_correction_comes_by_schedule_and_by_the_watch(dags, queries):
    declare(queries, "third", GAP)
    dag = load()["correct_third"]
    assert dag.timetable.timetable == CronDataIntervalTimetable("@hourly", timezone="UTC")
    [asset] = dag.timetable.asset_condition.objects
    [watcher] = asset.watchers
    path, arguments = watcher.trigger.serialize()
    assert import_string(path) is GapTrigger
    assert (arguments["query"], arguments["gap_ms"]) == ("third", 90_000)
    written = {asset.name for task in dag.tasks for asset in task.outlets}
    assert asset.name not in written, "an event of a task has no range"
    assert set(dag.task_ids) == set(dags["correct_first"].task_ids)
    assert (dag.catchup, dag.start_date.year) == (False, 1970)
    assert "more than Γ (90 s)" in dag.doc_md
    assert "third.uncorrected" in dag.doc_md
    assert "no run starts" not in dag.doc_md
    assert "no run starts" in dags["correct_first"].doc_md


def test_a_dag_with_a_gap_is_stored_whole_and_can_be_backfilled(dags, queries):
    """Airflow takes up its watch, its asset and its schedule from what is stored."""
    declare(queries, "third", GAP)
    dag = load()["correct_third"]
    stored = DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag))))
    timetable = stored.timetable
    [asset] = [asset for _, asset in timetable.asset_condition.iter_assets()]
    [watcher] = asset.watchers
    trigger = dict(watcher.trigger)
    assert import_string(trigger["classpath"])(**trigger["kwargs"]).gap_ms == 90_000
    assert timetable.can_be_scheduled
    assert timetable.periodic
    found = list(stored.iter_dagrun_infos_between(datetime(2013, 1, 1), datetime(2013, 1, 1, 5)))
    ends = [(info.data_interval.start.hour, info.data_interval.end.hour) for info in found]
    assert ends == [(hour, hour + 1) for hour in range(6)]


def test_dags_are_described(dags):
    for dag in dags.values():
        kind, _, name = dag.dag_id.partition("_")
        assert {
            "tailrace",
            {"stream": "stream", "correct": "correction", "calibrate": "calibration"}[kind],
            "aggregate",
        } == dag.tags
        assert f"**{name}**" in dag.doc_md
        assert "{" not in dag.doc_md
        assert dag.description


def test_forms_have_types_titles_descriptions_and_defaults_that_are_right(dags):
    for dag in dags.values():
        assert dag.params
        for name, param in dag.params.items():
            assert {"type", "title"} <= set(param.schema), (dag.dag_id, name)
            assert len(param.description) > 20, (dag.dag_id, name)
            param.resolve()  # the default is there, and keeps the bounds
    assert set(dags["stream_first"].params) == {
        "batch_rows",
        "restarts",
        "within_s",
        "hang_after_s",
        "driver_memory",
    }
    assert set(dags["correct_first"].params) == {"from", "to", "driver_memory"}
    assert set(dags["calibrate_first"].params) == {"dry_run", "driver_memory"}


@pytest.mark.parametrize(
    ("name", "value"),
    [("batch_rows", 0), ("restarts", -1), ("within_s", 9), ("hang_after_s", 5), ("hang_after_s", "a minute")]
    + [("driver_memory", memory) for memory in ("2", "2 g", "0g", "2g --conf x=y", "2g\n", "499m", "999999g")],
)
def test_forms_refuse_what_is_out_of_bounds(dags, name, value):
    with pytest.raises(ValueError, match=r"Invalid input|does not match|is not|less than"):
        dags["stream_first"].params[name] = value
    stored = DagSerialization.from_dict(DagSerialization.to_dict(dags["stream_first"]))
    with pytest.raises(ParamValidationError, match=r"Invalid input"):  # as a run that is triggered has it
        stored.params.deep_merge({name: value}).validate()


@pytest.mark.parametrize("memory", ["500m", "2048m", "1g", "999g"])
def test_forms_take_the_memory_that_a_driver_can_have(dags, memory):
    for dag in dags.values():
        dag.params["driver_memory"] = memory


def test_tasks_are_tried_again_with_growing_pauses(dags):
    for dag in dags.values():
        for task in dag.tasks:
            assert task.retries > 0
            assert task.retry_exponential_backoff > 1
            assert task.max_retry_delay


def test_drain_is_there_for_what_deploy_set_up_and_decides_nothing(dags):
    """With on_failure_fail_dagrun a run whose `supervise` was marked failed would be a success."""
    dag = dags["stream_first"]
    assert dag.get_task("deploy").is_setup
    assert dag.get_task("drain").is_teardown
    assert not dag.get_task("drain").on_failure_fail_dagrun
    assert dag.get_task("drain").upstream_task_ids == {"deploy", "supervise"}


def test_corrections_run_one_by_one_and_runs_that_wait_hold_up_none(dags):
    dag = dags["correct_first"]
    assert dag.get_task("correct").max_active_tis_per_dag == 1
    assert dag.max_active_runs >= 100


def test_tables_are_assets_and_show_where_they_come_from(dags, queries):
    supervise, correct = dags["stream_first"].get_task("supervise"), dags["correct_first"].get_task("correct")
    assert [asset.uri for asset in supervise.inlets] == [(queries / "readings").as_uri()]
    assert "first.late" in [asset.name for asset in supervise.outlets]
    assert [asset.name for asset in correct.inlets] == ["first.late"]
    assert [asset.uri for asset in correct.outlets] == ["tailrace://first/corrections", "tailrace://first/quality"]
    names = [asset.name for dag in dags.values() for task in dag.tasks for asset in task.outlets]
    assert len(names) == len(set(names)), "each table has one writer"


LEARNS = QUERY.replace("{{tick: 1 min}}", "{{policy: cache_duration, tick: 1 min}}")


def test_calibrations_come_by_schedule_where_the_policy_takes_up_what_they_find(dags, queries):
    declare(queries, "third", LEARNS)
    learns, constant = load()["calibrate_third"], dags["calibrate_first"]
    assert learns.timetable == CronTriggerTimetable("@hourly", timezone="UTC")
    assert (learns.catchup, learns.max_active_runs) == (False, 1)
    assert constant.schedule is None
    assert [asset.uri for asset in learns.get_task("calibrate").outlets] == ["tailrace://third/proposals"]
    assert constant.get_task("calibrate").outlets == []
    assert (learns.params["dry_run"], constant.params["dry_run"]) == (False, True)
    learns.params["dry_run"] = True
    with pytest.raises(ValueError, match="True was expected"):
        constant.params["dry_run"] = False
    assert "which takes no proposal" in constant.doc_md
    assert "(`@hourly`, UTC)" in learns.doc_md


def test_dags_can_be_stored(dags):
    for dag in dags.values():
        DagSerialization.to_dict(dag)
