"""OpenLineage, by its real provider: names of datasets, and the events of a correction that Airflow runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from deltalake import DeltaTable

from kit.fakes.fake_host import QUERY, declare
from kit.runs.local_driver import Driver
from kit.runs.warehouse import even, make_stream, write_files
from kit.suite.waiting import PATIENCE_S
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.delivery.current import refresh
from tailrace.orchestration import lineage
from tailrace.orchestration.calibration_operators import CalibrateOperator
from tailrace.orchestration.rebuild_operator import RebuildOperator
from tailrace.orchestration.stream_operators import SuperviseOperator
from tailrace.query.loading import load

ROOT = Path(__file__).parents[2]
SMALL = QUERY.replace("size: 2 h, slide: 1 h", "size: 700 ms, slide: 300 ms").replace("tick: 1 min", "tick: 100 ms")
TUPLES = make_stream(300, seed=4)
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture
def streamed(place):
    """The query `readings`, streamed into the warehouse in this process."""
    file = declare(place / "queries", "readings", SMALL)
    write_files(TUPLES, place / "queries" / "readings", even(len(TUPLES), 3))
    Driver(load(file), place / "warehouse").run(flush=True)
    return file


def names(datasets) -> list[tuple[str, str]]:
    return [(dataset.namespace, dataset.name) for dataset in datasets]


SOURCES = {
    "{{format: parquet, path: readings}}": ("file", "{place}/queries/readings"),
    "{{format: parquet, path: 's3://bucket/in/readings'}}": ("s3://bucket", "in/readings"),
    "{{format: json, path: 'abfss://in@lake.dfs.core.windows.net/readings'}}": (
        "abfss://in@lake.dfs.core.windows.net",
        "readings",
    ),
    "{{format: kafka, servers: 'one:9092,two:9092', topic: readings}}": ("kafka://one:9092", "readings"),
    "{{format: kafka, topic: readings, connection: main}}": ("kafka://one:9092", "readings"),
    "{{format: kafka, topic: readings, connection: unknown}}": ("kafka://unknown", "readings"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_is_named_as_openlineage_names_it(place, source, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_MAIN", json.dumps({"extra": {"bootstrap.servers": "three:9092,one:9092"}}))
    (place / "queries" / "readings").mkdir()
    text = QUERY.replace("{{format: parquet, path: readings}}", source)
    declare(place / "queries", "readings", text)
    operator = SuperviseOperator(task_id="supervise", query="readings", file=str(place / "queries" / "readings.yaml"))
    found = operator.get_openlineage_facets_on_start()
    namespace, name = SOURCES[source]
    assert names(found.inputs) == [(namespace, name.format(place=place))]
    assert names(found.outputs) == [("file", str(place / "warehouse" / "readings" / "results"))]
    assert list(found.outputs[0].facets) == ["storage", "columnLineage"], "it is not there yet"


def test_a_stream_that_answers_to_a_topic_writes_that_too(place):
    answers = "answers: {{kafka: {{servers: 'broker:9092', topic: sums}}}}\n"
    file = declare(place / "queries", "readings", QUERY + answers)
    operator = SuperviseOperator(task_id="supervise", query="readings", file=str(file))
    found = operator.get_openlineage_facets_on_start()
    assert names(found.outputs)[1:] == [("kafka://broker:9092", "sums")]


def test_what_delivers_answers_names_all_places(streamed, place, layout, monkeypatch):
    connection = {"host": "db", "port": 5433, "schema": "reports", "login": "l", "password": "secret"}
    monkeypatch.setenv("AIRFLOW_CONN_DB", json.dumps({"conn_type": "postgres", **connection}))
    answers = "answers: {{kafka: {{servers: 'broker:9092', topic: sums}}, postgres: {{connection: db, table: sums}}}}\n"
    places = [
        ("file", str(layout.table("current"))),
        ("kafka://broker:9092", "sums"),
        ("postgres://db:5433", "reports.public.sums"),
    ]
    refresh(layout, load(streamed), Driver(load(streamed), place / "warehouse").pipeline.kind)
    query = load(declare(place / "queries", "readings", SMALL + answers))
    for found in (
        lineage.of_stream(query, layout, None),
        lineage.of_correction(query, layout, None),
        lineage.of_rebuild(query, layout, None, rebuilds=True),
    ):
        assert names(found.outputs)[-3:] == places
        assert all("columnLineage" in each.facets for each in found.outputs[-3:])
    assert lineage.of_rebuild(query, layout, None).outputs == []


def test_a_chained_query_reads_the_results_and_corrections_of_the_one_before_it(place, layout):
    source = "{{format: tailrace, query: raw}}\n    event_time: window_start\n"
    text = f"{QUERY.partition('{{format')[0]}{source}window: 2 h\ndisorder: {{{{deduplicate: true}}}}\n"
    query = load(declare(place / "queries", "readings", f"{text}aggregate: {{{{function: sum, column: value}}}}\n"))
    tables = [str(layout.home.parent / "raw" / name) for name in ("results", "corrections")]
    assert names(lineage.of_stream(query, layout, None).inputs) == [("file", table) for table in tables]


DERIVED = "    id: id\n    columns: {{net: value / 2}}\n    where: value > 1 or key is not null\n    key: key"
NAMED = SMALL.replace(
    "aggregate: {{function: sum, column: value}}",
    "aggregate: {{total: {{function: sum, column: net}}, high: {{function: count, where: value > 50}}}}",
).replace("    id: id", DERIVED)


def test_the_columns_of_answers_name_the_columns_of_the_source_that_they_come_from(place, layout):
    file = declare(place / "queries", "readings", NAMED + "answers: {{kafka: {{servers: 'broker:9092', topic: t}}}}\n")
    stream = lineage.of_stream(load(file), layout, None)
    topic = stream.outputs[-1].facets["columnLineage"]
    corrections = lineage.of_correction(load(file), layout, None).outputs[0].facets["columnLineage"]
    found = stream.outputs[0].facets["columnLineage"]
    assert found == topic == corrections
    assert "columnLineage" not in lineage.of_correction(load(file), layout, None).outputs[1].facets
    source = (stream.inputs[0].namespace, stream.inputs[0].name)

    def used(fields) -> list[tuple]:
        assert {(field.namespace, field.name) for field in fields} == {source}
        return [(field.field, *[(t.type, t.subtype, t.description) for t in field.transformations]) for field in fields]

    assert found.fields.keys() == {"key", "window_start", "window_end", "total", "high"}
    assert used(found.fields["total"].inputFields) == [("value", ("DIRECT", "AGGREGATION", "sum(net)"))]
    assert used(found.fields["high"].inputFields) == [("value", ("INDIRECT", "FILTER", "value > 50"))]
    where = "value > 1 or key is not null"
    assert used(found.dataset) == [
        ("value", ("INDIRECT", "FILTER", where)),
        ("key", ("INDIRECT", "FILTER", where), ("INDIRECT", "GROUP_BY", None)),
        ("event_time", ("INDIRECT", "WINDOW", None)),
    ]


def test_a_stream_writes_its_tables_which_have_columns_and_versions(streamed, layout):
    operator = SuperviseOperator(task_id="supervise", query="readings", file=str(streamed))
    found = operator.get_openlineage_facets_on_complete(SimpleNamespace(start_date=BEGINNING))
    tables = {output.name.rpartition("/")[2]: output.facets for output in found.outputs}
    assert {"results", "late", "metrics", "quarantine", "facts", "segments"} <= tables.keys()
    columns = {field.name: field.type for field in tables["results"]["schema"].fields}
    assert (columns["value"], columns["window_end"], columns["tuples"]) == ("double", "timestamp", "long")
    assert int(tables["results"]["version"].datasetVersion) > 0
    assert "loads" in {field.name for field in tables["metrics"]["schema"].fields}, "nested columns too"


def test_a_calibration_writes_only_what_it_has_proposed(streamed):
    operator = CalibrateOperator(task_id="calibrate", query="readings", file=str(streamed))
    found = operator.get_openlineage_facets_on_complete(SimpleNamespace(start_date=BEGINNING))
    assert [name.rpartition("/")[2] for _, name in names(found.inputs)] == ["readings", "metrics"]
    assert found.outputs == []


def test_a_rebuild_writes_the_tables_of_the_stream_and_a_dry_run_none(streamed):
    operator = RebuildOperator(task_id="rebuild", query="readings", file=str(streamed))
    dry = operator.get_openlineage_facets_on_complete(SimpleNamespace(start_date=BEGINNING))
    assert [name.rpartition("/")[2] for _, name in names(dry.inputs)] == ["readings"]
    assert dry.outputs == []
    operator.rebuilds = True
    done = operator.get_openlineage_facets_on_complete(SimpleNamespace(start_date=BEGINNING))
    assert {"results", "late", "metrics"} <= {output.name.rpartition("/")[2] for output in done.outputs}


def test_a_correction_tells_its_rows_once_it_has_come_to_its_end(streamed, place, layout):
    query, span = load(streamed), CorrectionRange()

    def facets(since):
        return lineage.of_correction(query, layout, since, span).outputs[0].outputFacets

    assert list(facets(BEGINNING)) == ["subset"], "it has not come to its end"
    correct(query, place / "warehouse", span, no_spark)
    rows = DeltaTable(layout.table("corrections")).to_pyarrow_table().num_rows
    assert facets(BEGINNING)["outputStatistics"].rowCount == rows > 0
    assert list(facets(datetime.now(UTC) + timedelta(hours=1))) == ["subset"], "an earlier one has"
    assert list(facets(None)) == ["subset"], "it has not begun"


def no_spark(buckets: int):
    raise AssertionError("so little is read in one process")


def test_a_correction_of_an_interval_tells_which_late_tuples_it_takes(streamed, layout):
    span = CorrectionRange(0, 1000, arrival=True)
    late = lineage.of_correction(load(streamed), layout, None, span).inputs[0]
    condition = late.inputFacets["subset"].inputCondition
    ends = [(side.left.field, side.comparison, side.right.value) for side in (condition.left, condition.right)]
    assert ends == [
        ("arrived", "GREATER_THAN", "1970-01-01T00:00:00.000Z"),
        ("arrived", "LESS_EQUAL_THAN", "1970-01-01T00:00:01.000Z"),
    ]


# In the place of spark-submit: it runs the application in the same way, and Spark is started only for much history.
SUBMIT = f"""#!{sys.executable}
import os, sys
first = next(number for number, word in enumerate(sys.argv) if word.endswith("correct.py"))
os.execv(sys.executable, [sys.executable, *sys.argv[first:]])
"""


@pytest.mark.needs("process")
@pytest.mark.slow
def test_airflow_sends_the_events_of_a_correction_by_the_provider(streamed, place, layout):
    """A run of the DAG in a process of its own, with the provider's listener and its transport to a file."""
    submit, events = place / "bin" / "spark-submit", place / "events.jsonl"
    submit.parent.mkdir()
    submit.write_text(SUBMIT)
    submit.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{submit.parent}:{os.environ['PATH']}",
        "AIRFLOW_HOME": str(place / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "tests",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "file", "log_file_path": str(events), "append": True}),
    }
    for words in (("db", "migrate"), ("dags", "test", "correct_readings")):
        command = [sys.executable, "-m", "airflow", *words]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=3 * PATIENCE_S
        )
        assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-3000:]
    told = [json.loads(line) for line in events.read_text().splitlines()]
    own = {event["eventType"]: event for event in told if event["job"]["name"] == "correct_readings.correct"}
    assert own.keys() == {"START", "COMPLETE"}
    complete = own["COMPLETE"]
    assert complete["job"]["namespace"] == "tests"
    tables = {dataset["name"].rpartition("/")[2]: dataset for dataset in complete["inputs"] + complete["outputs"]}
    assert list(tables) == ["late", "results", "readings", "corrections", "quality", "current"]
    given = DeltaTable(layout.table("corrections")).to_pyarrow_table()
    assert given.num_rows > 0
    facets = tables["corrections"]["outputFacets"]
    assert facets["outputStatistics"]["rowCount"] == given.num_rows
    assert facets["subset"]["outputCondition"]["right"]["value"] == given["interval"][0].as_py() == "event time […, …)"
    fields = {field["name"]: field["type"] for field in tables["corrections"]["facets"]["schema"]["fields"]}
    assert (fields["value"], fields["retracted"]) == ("double", "boolean")


@pytest.mark.needs("process")
def test_a_dag_is_parsed_without_what_lineage_takes():
    script = "import sys, tailrace.orchestration.stream_dags, tailrace.orchestration.calibration_dags\n"
    script += "import tailrace.orchestration.correction_dags\nprint('tailrace.orchestration.lineage' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
