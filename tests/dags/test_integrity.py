"""The DAG files: their DAGs, their forms, their parse time, and import errors for wrong queries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from airflow._shared.module_loading import import_string
from airflow.dag_processing.dagbag import DagBag
from airflow.exceptions import ParamValidationError
from airflow.sdk import CronDataIntervalTimetable, CronTriggerTimetable, DeltaTriggerTimetable
from airflow.serialization.serialized_objects import DagSerialization
from pendulum import datetime

from kit.fakes.fake_host import QUERY, declare
from kit.parts.airflow_home import HOME
from kit.suite.waiting import PATIENCE_S
from tailrace.orchestration.gap_trigger import GapTrigger

DAGS = Path(__file__).parents[2] / "dags"
FILES = ("calibrations.py", "corrections.py", "publications.py", "rebuilds.py", "refused_queries.py", "streams.py")
MOST_CALLS = {
    "calibrations.py": 0.49,
    "corrections.py": 0.60,
    "publications.py": 0.41,
    "rebuilds.py": 0.49,
    "refused_queries.py": 0.29,
    "streams.py": 0.71,
}
"""Of each file with ten queries, as a share of the function calls of importing `airflow.sdk`: measured, and 5 %."""
TAGS = {
    "stream": "stream",
    "correct": "correction",
    "calibrate": "calibration",
    "publish": "publication",
    "rebuild": "rebuild",
}
# Parses each DAG file as the DAG processor does: in a fork of a process that has imported airflow. Counts function
# calls in place of seconds, which differ on a busy machine: in the second of two rounds, when all is compiled.
PARSE = """
import gc, json, os, sys

is_counting = sys.argv[2] == "counting"

def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")

gc.disable()  # a collection calls functions too, and comes at any time
calls = 0
if is_counting:
    sys.setprofile(count)
import airflow.sdk
sys.setprofile(None)
of_import = max(calls, 1)
from airflow.dag_processing.dagbag import DagBag
from airflow.dag_processing.processor import _serialize_dags, _pre_import_airflow_modules
import structlog

for name in (1 + is_counting) * sorted(os.listdir(sys.argv[1])):
    if name.endswith(".py"):
        file = os.path.join(sys.argv[1], name)
        _pre_import_airflow_modules(file, structlog.get_logger())
        if os.fork() == 0:
            calls = 0
            if is_counting:
                sys.setprofile(count)
            bag = DagBag(file, load_op_links=False)
            _, errors = _serialize_dags(bag, structlog.get_logger())
            sys.setprofile(None)
            slow = [module for module in ("pyspark", "pandas", "deltalake") if module in sys.modules]
            found = [name, sorted(bag.dags), bag.import_errors | errors, calls / of_import, slow]
            print("FOUND", json.dumps(found), flush=True)
            os._exit(0)
        os.wait()
"""


@pytest.fixture
def queries(tmp_path, monkeypatch):
    monkeypatch.setenv("TAILRACE_QUERIES", str(tmp_path))
    return tmp_path


def parse(is_counting=False, **environment):
    """Parse the DAG files; return of each its DAGs, import errors, calls and imported slow modules.

    The calls are counted, if they are, as a share of those of importing `airflow.sdk`.
    """
    run = subprocess.run(
        [sys.executable, "-c", PARSE, str(DAGS), "counting" if is_counting else ""],
        env=os.environ | {"AIRFLOW_HOME": HOME} | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=2 * PATIENCE_S,
    )
    lines = [json.loads(line[6:]) for line in run.stdout.splitlines() if line.startswith("FOUND ")]
    return {name: fields for name, *fields in lines}


def load():
    bag = DagBag(DAGS, load_op_links=False)
    assert not bag.import_errors
    return bag.dags


def test_without_a_setting_the_repositorys_own_queries_become_dags():
    environment = {name: value for name, value in os.environ.items() if name != "TAILRACE_QUERIES"}
    assert "TAILRACE_QUERIES" not in environment
    parsed = parse(AIRFLOW__CORE__DAGS_FOLDER=str(DAGS))
    assert tuple(sorted(parsed)) == FILES
    assert "stream_flights" in parsed["streams.py"][0]
    assert "correct_flights" in parsed["corrections.py"][0]
    assert "calibrate_flights" in parsed["calibrations.py"][0]
    assert not any(errors for _, errors, *_ in parsed.values())


def test_ten_queries_parse_in_fewer_calls_than_importing_airflow(queries):
    names = [f"query_{number}" for number in range(10)]
    for name in names:
        declare(queries, name, GAP_QUERY)
    parsed = parse(is_counting=True)
    assert parsed["streams.py"][0] == [f"stream_{name}" for name in names]
    assert parsed["corrections.py"][0] == [f"correct_{name}" for name in names]
    assert parsed["calibrations.py"][0] == [f"calibrate_{name}" for name in names]
    assert parsed["rebuilds.py"][0] == [f"rebuild_{name}" for name in names]
    for name, (_, errors, share_of_calls, slow_modules) in parsed.items():
        assert not errors, name
        assert share_of_calls < MOST_CALLS[name], name
        assert not slow_modules, name


def test_a_wrong_query_is_an_import_error_and_affects_no_other_query(queries):
    declare(queries, "right")
    wrong_file = declare(queries, "wrong", QUERY.replace("size: 2 h", "size: 2"))
    parsed = parse()
    assert parsed["streams.py"][:2] == [["stream_right"], {}]
    assert parsed["corrections.py"][:2] == [["correct_right"], {}]
    assert parsed["calibrations.py"][:2] == [["calibrate_right"], {}]
    dags, errors, *_ = parsed["refused_queries.py"]
    assert dags == []
    [error] = errors.values()
    assert f"{wrong_file}:9: window.size: 2 has no unit\n    right would be: write 2 ms" in error


def test_a_query_file_that_is_a_fifo_is_an_import_error_and_the_other_dags_live(queries):
    declare(queries, "right")
    os.mkfifo(queries / "pipe.yaml")
    (queries / "gone.yaml").symlink_to("none")
    bag = DagBag(DAGS, load_op_links=False)
    assert "stream_right" in bag.dags
    [error] = bag.import_errors.values()
    assert f"{queries}/pipe.yaml: cannot be read: it is a FIFO (named pipe), and no regular file" in error
    assert f"{queries}/gone.yaml: cannot be read: it is a symbolic link to none, which is not there" in error


def test_queries_of_the_same_name_have_no_dags_and_are_import_errors(queries):
    for file in ("a", "b"):
        declare(queries, file, QUERY.replace("{name}", "same"))
    declare(queries, "other")
    bag = DagBag(DAGS, load_op_links=False)
    assert set(bag.dags) == {"stream_other", "correct_other", "calibrate_other", "publish_other", "rebuild_other"}
    [error] = bag.import_errors.values()
    assert "a.yaml: name: same is declared in b.yaml, too" in error
    assert "b.yaml: name: same is declared in a.yaml, too" in error


GAP_QUERY = QUERY + "correction: {{schedule: '@hourly', gap: 90 s}}\n"


@pytest.fixture
def dags(queries):
    declare(queries, "first")
    declare(queries, "second", QUERY + "correction: {{schedule: '30 1 * * 1'}}\n")
    return load()


def test_each_query_has_its_five_dags(dags):
    assert set(dags) == {f"{prefix}_{name}" for prefix in TAGS for name in ("first", "second")}
    for name in ("stream_first", "stream_second"):
        assert set(dags[name].task_ids) == {"check", "deploy", "supervise", "drain"}
        assert dags[name].schedule is None
    for name, cron in (("correct_first", "@daily"), ("correct_second", "30 1 * * 1")):
        dag = dags[name]
        assert dag.get_task("correct").upstream_task_ids == {"wait"}
        assert dag.timetable == CronDataIntervalTimetable(cron, timezone="UTC")
        assert (dag.catchup, dag.start_date.year) == (False, 1970)


def test_a_declared_gap_triggers_corrections_beside_the_schedule(dags, queries):
    declare(queries, "third", GAP_QUERY)
    dag = load()["correct_third"]
    assert dag.timetable.timetable == CronDataIntervalTimetable("@hourly", timezone="UTC")
    [asset] = dag.timetable.asset_condition.objects
    [watcher] = asset.watchers
    path, arguments = watcher.trigger.serialize()
    assert import_string(path) is GapTrigger
    assert (arguments["query"], arguments["gap_ms"]) == ("third", 90_000)
    outlet_names = {asset.name for task in dag.tasks for asset in task.outlets}
    assert asset.name not in outlet_names, "an event of a task has no range"
    assert set(dag.task_ids) == set(dags["correct_first"].task_ids)
    assert (dag.catchup, dag.start_date.year) == (False, 1970)
    assert "more than Γ (90 s)" in dag.doc_md
    assert "third.uncorrected" in dag.doc_md
    assert "no run starts" not in dag.doc_md
    assert "no run starts" in dags["correct_first"].doc_md


def test_a_dag_with_a_gap_survives_serialization_and_can_be_backfilled(dags, queries):
    """Airflow reads the trigger, the asset and the schedule from the serialized DAG."""
    declare(queries, "third", GAP_QUERY)
    dag = load()["correct_third"]
    restored_dag = DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag))))
    timetable = restored_dag.timetable
    [asset] = [asset for _, asset in timetable.asset_condition.iter_assets()]
    [watcher] = asset.watchers
    trigger = dict(watcher.trigger)
    assert import_string(trigger["classpath"])(**trigger["kwargs"]).gap_ms == 90_000
    assert timetable.can_be_scheduled
    assert timetable.periodic
    runs = list(restored_dag.iter_dagrun_infos_between(datetime(2013, 1, 1), datetime(2013, 1, 1, 5)))
    hours = [(info.data_interval.start.hour, info.data_interval.end.hour) for info in runs]
    assert hours == [(hour, hour + 1) for hour in range(6)]


TABLE_QUERY = """\
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


def test_a_join_with_a_table_has_nothing_to_correct_nor_to_calibrate(queries):
    declare(queries, "where", TABLE_QUERY)
    dags = load()
    assert set(dags) == {"stream_where", "publish_where", "rebuild_where"}
    assert [task.task_id for task in dags["publish_where"].tasks] == ["results", "current"]
    assert "No tuple is late" in dags["stream_where"].doc_md
    assert "correct_where" not in dags["stream_where"].doc_md
    inlets = [inlet.uri for inlet in dags["stream_where"].get_task("supervise").inlets]
    assert [uri.rsplit("/", 1)[1] for uri in inlets] == ["fixes", "zones.geojson"]


def test_dags_are_described(dags):
    for dag in dags.values():
        kind, _, name = dag.dag_id.partition("_")
        assert {
            "tailrace",
            TAGS[kind],
            "aggregate",
            name,
        } == dag.tags
        assert f"**{name}**" in dag.doc_md
        assert "{" not in dag.doc_md
        assert dag.description


def test_forms_have_types_titles_descriptions_and_valid_defaults(dags):
    with_forms = [dag for dag in dags.values() if not dag.dag_id.startswith("publish_")]
    for dag in with_forms:
        assert dag.params
        for name, param in dag.params.items():
            assert {"type", "title"} <= set(param.schema), (dag.dag_id, name)
            assert len(param.description) > 20, (dag.dag_id, name)
            param.resolve()  # raises where the default is missing or out of bounds
    assert set(dags["stream_first"].params) == {
        "batch_rows",
        "restarts",
        "within_s",
        "hang_after_s",
        "driver_memory",
    }
    assert set(dags["correct_first"].params) == {"from", "to", "driver_memory"}
    assert set(dags["calibrate_first"].params) == {"dry_run", "driver_memory"}
    assert set(dags["rebuild_first"].params) == {"dry_run", "driver_memory"}
    assert dags["rebuild_first"].params["dry_run"] is True
    assert dags["rebuild_first"].schedule is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("batch_rows", 0), ("restarts", -1), ("within_s", 9), ("hang_after_s", 5), ("hang_after_s", "a minute")]
    + [("driver_memory", memory) for memory in ("2", "2 g", "0g", "2g --conf x=y", "2g\n", "499m", "999999g")],
)
def test_forms_refuse_values_out_of_bounds(dags, name, value):
    with pytest.raises(ValueError, match=r"Invalid input|does not match|is not|less than"):
        dags["stream_first"].params[name] = value
    restored_dag = DagSerialization.from_dict(DagSerialization.to_dict(dags["stream_first"]))
    with pytest.raises(ParamValidationError, match=r"Invalid input"):  # as Airflow merges the conf of a triggered run
        restored_dag.params.deep_merge({name: value}).validate()


@pytest.mark.parametrize("memory", ["500m", "2048m", "1g", "999g"])
def test_forms_accept_every_memory_within_the_bounds(dags, memory):
    for dag in dags.values():
        if dag.params:
            dag.params["driver_memory"] = memory


def test_tasks_are_retried_with_exponential_backoff(dags):
    for dag in dags.values():
        for task in dag.tasks:
            assert task.retries > 0
            assert task.retry_exponential_backoff > 1
            assert task.max_retry_delay


def test_drain_is_the_teardown_of_deploy_and_does_not_decide_the_state_of_the_run(dags):
    """With on_failure_fail_dagrun a run whose `supervise` was marked failed would be a success."""
    dag = dags["stream_first"]
    assert dag.get_task("deploy").is_setup
    assert dag.get_task("drain").is_teardown
    assert not dag.get_task("drain").on_failure_fail_dagrun
    assert dag.get_task("drain").upstream_task_ids == {"deploy", "supervise"}


def test_corrections_run_one_at_a_time_and_waiting_runs_block_no_other(dags):
    dag = dags["correct_first"]
    assert dag.get_task("correct").max_active_tis_per_dag == 1
    assert dag.max_active_runs >= 100


def test_tables_are_assets_with_their_lineage(dags, queries):
    supervise, correct = dags["stream_first"].get_task("supervise"), dags["correct_first"].get_task("correct")
    assert [asset.uri for asset in supervise.inlets] == [(queries / "readings").as_uri()]
    assert "first.late" in [asset.name for asset in supervise.outlets]
    assert [asset.name for asset in correct.inlets] == ["first.late"]
    assert [asset.uri for asset in correct.outlets] == ["tailrace://first/quality"]
    published = [asset.uri for task in dags["publish_first"].tasks for asset in task.outlets]
    assert published == ["tailrace://first/results", "tailrace://first/corrections", "tailrace://first/current"]
    names = [asset.name for dag in dags.values() for task in dag.tasks for asset in task.outlets]
    assert len(names) == len(set(names)), "each table has one writer"


def test_a_query_publishes_the_places_that_its_file_names(queries):
    places = "{{kafka: {{servers: 'b:9092', topic: answers}}, postgres: {{connection: reports, table: revenue}}}}"
    declare(queries, "third", f"{QUERY}answers: {places}\n")
    dag = load()["publish_third"]
    published = {task.task_id: [asset.uri for asset in task.outlets] for task in dag.tasks}
    assert published == {
        "results": ["tailrace://third/results"],
        "corrections": ["tailrace://third/corrections"],
        "current": ["tailrace://third/current"],
        "kafka": ["kafka://b:9092/answers"],
        "postgres": ["postgres-table://reports/revenue"],
    }
    assert all(task.inlets == task.outlets for task in dag.tasks)
    assert "`third.current` and `kafka://b:9092/answers`" in dag.doc_md
    DagSerialization.to_dict(dag)


LEARNING_QUERY = QUERY.replace("{{tick: 1 min}}", "{{policy: cache_duration, tick: 1 min}}")


@pytest.mark.parametrize(
    ("section", "timetable", "text"),
    [
        ("schedule: '*/10 * * * *'", CronTriggerTimetable("*/10 * * * *", timezone="UTC"), "(`*/10 * * * *`, UTC)"),
        ("every: 30 windows", DeltaTriggerTimetable(timedelta(hours=30)), "(every 30 windows, 30 h)"),
    ],
)
def test_calibrations_follow_the_query_files_schedule(dags, queries, section, timetable, text):
    declare(queries, "third", f"{LEARNING_QUERY}calibration: {{{{{section}}}}}\n")
    dag = load()["calibrate_third"]
    assert dag.timetable == timetable
    assert text in dag.doc_md


def test_calibrations_are_scheduled_only_for_a_policy_that_uses_their_proposals(dags, queries):
    declare(queries, "third", LEARNING_QUERY)
    learning_dag, constant_dag = load()["calibrate_third"], dags["calibrate_first"]
    assert learning_dag.timetable == CronTriggerTimetable("@hourly", timezone="UTC")
    assert (learning_dag.catchup, learning_dag.max_active_runs) == (False, 1)
    assert constant_dag.schedule is None
    assert [asset.uri for asset in learning_dag.get_task("calibrate").outlets] == ["tailrace://third/proposals"]
    assert constant_dag.get_task("calibrate").outlets == []
    assert (learning_dag.params["dry_run"], constant_dag.params["dry_run"]) == (False, True)
    assert set(learning_dag.params) == {"dry_run", "accept", "driver_memory"}
    assert learning_dag.params["accept"] is None
    learning_dag.params["dry_run"] = True
    with pytest.raises(ValueError, match="True was expected"):
        constant_dag.params["dry_run"] = False
    assert "which takes no proposal" in constant_dag.doc_md
    assert "(`@hourly`, UTC)" in learning_dag.doc_md


def test_dags_can_be_serialized(dags):
    for dag in dags.values():
        DagSerialization.to_dict(dag)


def test_a_publication_is_scheduled_by_the_watcher_of_its_querys_commits(dags):
    dag = dags["publish_first"]
    [asset] = dag.timetable.asset_condition.objects
    [watcher] = asset.watchers
    path, arguments = watcher.trigger.serialize()
    assert arguments == {"query": "first", "interval_s": 60.0}
    assert import_string(path)(**arguments).serialize() == (path, arguments)
    assert dag.max_active_runs == 1
    outlets = [asset.name for dag in dags.values() for task in dag.tasks for asset in task.outlets]
    assert asset.name not in outlets
