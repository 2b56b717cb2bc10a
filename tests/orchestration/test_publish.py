"""Asset events of new answers: when the trigger fires, and what the operator publishes, each change exactly once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from airflow.sdk.exceptions import AirflowSkipException

from kit.fakes.fake_host import QUERY, declare, write_status
from kit.runs.chained_queries import chain
from kit.runs.late_tables import SCHEMA
from kit.suite.waiting import PATIENCE_S
from tailrace.delivery.delivered import DeliveryNote
from tailrace.ground.arrow.times import with_times
from tailrace.ground.duration import format_time
from tailrace.orchestration import assets
from tailrace.orchestration.commit_trigger import CommitTrigger
from tailrace.orchestration.publish_operator import PublishOperator
from tailrace.orchestration.settings import find
from tailrace.query.loading import load
from tailrace.storage.status import Status
from tailrace.storage.table_snapshot import TableSnapshot
from tailrace.storage.tables import Tables


@pytest.fixture
def answer(layout):
    """Appends rows to a table of answers, one for each as_of in ms."""
    tables = Tables(layout)
    tables.create({name: SCHEMA[name] for name in ("results", "corrections", "quality")})

    def append(*as_of, table="results"):
        rows = [dict.fromkeys(SCHEMA[table].names) | {"as_of": at} for at in as_of]
        tables.add(table, with_times(pa.Table.from_pylist(rows), SCHEMA[table]))

    return append


class Events(list):
    """Events of an asset, oldest first, as Airflow gives them to a task."""

    def ascending(self, ascending):
        return self if ascending else Events(reversed(self))

    def limit(self, count):
        return Events(self[:count])


@pytest.fixture
def publish(place):
    """Runs the task of a table or place as Airflow does, which stores the event only with the task's success."""
    events = {}

    def run(name="results", dies=False):
        declared = find("readings")
        places = assets.places(declared.query)
        tables = {table.name.rpartition(".")[2]: table for table in assets.published(declared.query)}
        table, place = (tables | places)[name], name if name in places else None
        operator = PublishOperator(task_id=name, table=table, place=place, query="readings", file=str(declared.file))
        stored = events.setdefault(name, Events())
        outlet = SimpleNamespace(extra={})
        operator.execute({"inlet_events": {table: stored}, "outlet_events": {table: outlet}})
        if not dies:
            stored.append(SimpleNamespace(extra=outlet.extra))
        return outlet.extra

    run.events = events
    return run


def test_an_event_tells_what_a_table_has_gained(answer, publish, layout):
    write_status(layout, 1)
    replace(Status.read(layout), coverage=0.5, committed=3000).write(layout)
    answer(1000, 2000)
    first = {
        "query": "readings",
        "rows": 2,
        "total_rows": 2,
        "as_of": "1970-01-01T00:00:02.000Z",
        "coverage": 0.5,
        "promise": "unknown",
    }
    first |= {"committed": "1970-01-01T00:00:03.000Z", "promise_detail": "nothing is measured yet"}
    first |= {"page": "/tailrace/queries/readings?part=promise"}
    assert publish() == first
    answer(3000)
    answer(4000)
    assert publish() == first | {"rows": 2, "total_rows": 4, "as_of": "1970-01-01T00:00:04.000Z"}


def test_publications_may_come_more_often(place):
    from tailrace.orchestration.publish_dags import publish_dags

    for interval_s, dags, said in ((60.0, publish_dags(), "1 min"), (15.0, publish_dags(15.0), "15 s")):
        dag = dags["publish_readings"]
        [watcher] = dag.timetable.asset_condition.objects[0].watchers
        assert watcher.trigger.serialize()[1] == {"query": "readings", "interval_s": interval_s}
        assert f"at most once in {said}" in dag.doc_md


def test_the_state_of_the_promise_is_told(answer, publish, layout):
    row = dict.fromkeys(SCHEMA["quality"].names) | {"bucket_start": 0, "answers": 9, "missing": 0, "off": 9}
    row |= {"error": 0.05, "risk": 0.1}
    Tables(layout).add("quality", with_times(pa.Table.from_pylist([row]), SCHEMA["quality"]))
    answer(1000)
    extra = publish()
    assert extra["promise"] == "broken"
    assert extra["promise_detail"].startswith("100.00% of the newest 9 answers are off by 0.05 or more")


def test_no_change_has_two_events_and_a_compaction_has_none(answer, publish, layout):
    answer(1000)
    answer(2000)
    publish()
    Tables(layout).compact(["results"])
    with pytest.raises(AirflowSkipException, match="nothing new"):
        publish()


def test_a_task_that_dies_before_its_success_is_made_up_for(answer, publish):
    answer(1000)
    publish(dies=True)
    assert publish()["rows"] == 1


def test_events_that_were_added_by_hand_are_passed_over(answer, publish):
    answer(1000)
    publish()
    publish.events["results"] += [SimpleNamespace(extra={}), SimpleNamespace(extra={"from_rest_api": True})]
    answer(2000)
    assert publish()["rows"] == 1


def test_tables_are_published_apart(answer, publish):
    answer(1000)
    publish()
    with pytest.raises(AirflowSkipException):
        publish("corrections")
    answer(5000, table="corrections")
    assert publish("corrections")["as_of"] == "1970-01-01T00:00:05.000Z"


def test_a_query_without_tables_has_nothing_to_publish(publish):
    with pytest.raises(AirflowSkipException):
        publish()


def fired(trigger, looks, steps):
    """The payloads of a trigger's events; `steps` are called after looks of that number."""

    async def listen():
        payloads, count = [], 0
        poll = trigger._poll

        def counted():
            nonlocal count
            count += 1
            if count in steps:
                steps[count]()
            return poll()

        trigger._poll = counted

        async def run():
            async for event in trigger.run():
                payloads.append(event.payload)

        task = asyncio.create_task(run())
        while count < looks:
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return payloads

    return asyncio.run(asyncio.wait_for(listen(), PATIENCE_S))


KAFKA = "answers: {{kafka: {{servers: 'b:9092', topic: answers}}}}\n"
POSTGRES = "answers: {{postgres: {{connection: reports, table: reports.revenue}}}}\n"


@pytest.mark.parametrize(
    ("name", "section", "uri"),
    [
        ("current", "", None),
        ("kafka", KAFKA, "kafka://b:9092/answers"),
        ("postgres", POSTGRES, "postgres-table://reports/reports.revenue"),
    ],
)
def test_a_place_is_published_once_it_has_the_answers_and_once_for_each_change(
    answer, publish, layout, place, name, section, uri
):
    declare(place / "queries", "readings", QUERY + section)
    answer(1000)
    with pytest.raises(AirflowSkipException, match="nothing is known yet"):
        publish(name)
    for rows, as_of in ((3, 1000), (5, 2000)):
        DeliveryNote(uri, TableSnapshot(rows, format_time(as_of))).write(layout, name)
        extra = publish(name)
        assert (extra["total_rows"], extra["as_of"], extra["query"]) == (rows, format_time(as_of), "readings")
        with pytest.raises(AirflowSkipException):
            publish(name)
    assert extra["rows"] == 2
    (layout.stream / f"delivered_{name}.json").unlink()  # as a rebuild and a restored backup begin
    with pytest.raises(AirflowSkipException, match="nothing is known yet"):
        publish(name)
    DeliveryNote(uri, TableSnapshot(1, format_time(2000))).write(layout, name)
    assert publish(name)["rows"] == -4, "the tables have fewer rows than before"


def test_many_events_of_other_queries_that_send_to_the_topic_hide_none_of_this_one(publish, layout, place):
    declare(place / "queries", "readings", QUERY + KAFKA)
    DeliveryNote("kafka://b:9092/answers", TableSnapshot(3, format_time(1000))).write(layout, "kafka")
    publish("kafka")
    publish.events["kafka"] += [SimpleNamespace(extra={"query": "other", "total_rows": 7})] * 45
    with pytest.raises(AirflowSkipException, match="nothing new"):
        publish("kafka")


def test_what_another_target_has_is_no_event_of_the_declared_one(publish, layout, place):
    declare(place / "queries", "readings", QUERY + KAFKA)
    DeliveryNote("kafka://b:9092/earlier", TableSnapshot(3, format_time(1000))).write(layout, "kafka")
    with pytest.raises(AirflowSkipException):
        publish("kafka")


def test_events_of_another_query_with_the_same_topic_are_passed_over(publish, layout, place):
    declare(place / "queries", "readings", QUERY + KAFKA)
    DeliveryNote("kafka://b:9092/answers", TableSnapshot(3, format_time(1000))).write(layout, "kafka")
    publish("kafka")
    publish.events["kafka"].append(SimpleNamespace(extra={"query": "others", "total_rows": 9, "as_of": None}))
    with pytest.raises(AirflowSkipException):
        publish("kafka")


def test_a_trigger_fires_once_a_place_has_the_answers(answer, layout):
    given = TableSnapshot(1, "1970-01-01T00:00:01.000Z")
    note = DeliveryNote("kafka://b:9092/answers", given)
    steps = {3: lambda: answer(1000), 6: lambda: note.write(layout, "kafka")}
    first = {"results": {"rows": 1, "as_of": given.as_of}}
    assert fired(CommitTrigger("readings", 0.001), 12, steps) == [first, first | {"kafka": first["results"]}]


def test_a_trigger_fires_once_for_each_change(answer, layout):
    steps = {3: lambda: answer(1000), 6: lambda: answer(2000, table="corrections")}
    first = {"results": {"rows": 1, "as_of": "1970-01-01T00:00:01.000Z"}}
    second = first | {"corrections": {"rows": 1, "as_of": "1970-01-01T00:00:02.000Z"}}
    assert fired(CommitTrigger("readings", 0.001), 12, steps) == [first, second]


def test_a_trigger_survives_an_error(answer, monkeypatch, place):
    answer(1000)
    monkeypatch.delenv("TAILRACE_WAREHOUSE")
    steps = {3: lambda: monkeypatch.setenv("TAILRACE_WAREHOUSE", str(place / "warehouse"))}
    assert len(fired(CommitTrigger("readings", 0.001), 8, steps)) == 1


def test_a_trigger_looks_at_most_once_a_minute():
    """The first look comes after an interval too: a triggerer that restarts again and again publishes no more often."""
    assert CommitTrigger("readings").interval_s == 60.0
    assert fired_at_once(CommitTrigger("readings")) == 0


def fired_at_once(trigger):
    looks = 0

    def look():
        nonlocal looks
        looks += 1
        return {}

    trigger._poll = look

    async def run():
        task = asyncio.create_task(anext(trigger.run()))
        for _ in range(100):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    return looks


def test_a_chain_reads_the_assets_that_its_upstream_query_publishes(tmp_path):
    first, second, _ = chain(tmp_path)
    read = assets.sources(second)
    assert read == assets.published(first)
    names = {"revenue.results": "tailrace://revenue/results", "revenue.corrections": "tailrace://revenue/corrections"}
    assert {asset.name: asset.uri for asset in read} == names
    assert second.streams["minutes"].uri == read[0].uri


CHAINED = QUERY.replace("{{format: parquet, path: readings}}", "{{format: kafka, servers: 'b:9092', topic: answers}}")


@pytest.mark.parametrize(("writes", "reads"), [("b:9092", "b:9092"), ("b:9092,a:9092", "A:9092,b:9092")])
def test_a_query_reads_the_topic_that_another_one_publishes(tmp_path, writes, reads):
    chained = CHAINED.replace("    arrival_time: arrival_time\n    id: id\n", "")
    first = load(declare(tmp_path, "first", QUERY + KAFKA.replace("b:9092", writes)))
    second = load(declare(tmp_path, "second", chained.replace("b:9092", reads)))
    assert assets.sources(second) == [assets.places(first)["kafka"]]


ZONES = """\
name: {name}
kind: spatial_join
streams:
  left: {{source: {{format: parquet, path: fixes}}, event_time: at, arrival_time: came, id: id}}
spatial_join:
  join: table
  geometry: {{left: {{x: lon, y: lat}}}}
  relation: within
  table: TABLE
"""


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("postgres", "{{format: postgres, connection: reports, table: reports.revenue, id: id, geometry: shape}}"),
        ("current", "{{format: delta, path: WAREHOUSE/first/current, id: id, geometry: shape}}"),
    ],
)
def test_a_join_reads_the_table_that_another_query_publishes(tmp_path, monkeypatch, name, table):
    monkeypatch.setenv("TAILRACE_WAREHOUSE", str(tmp_path / "warehouse"))
    first = load(declare(tmp_path, "first", QUERY + POSTGRES))
    join = load(declare(tmp_path, "zones", ZONES.replace("TABLE", table.replace("WAREHOUSE", f"{tmp_path}/warehouse"))))
    assert assets.sources(join)[1:] == [assets.places(first)[name]]


@pytest.mark.parametrize("warehouse", [None, "elsewhere", "."])
def test_what_is_no_table_of_a_warehouse_is_an_asset_by_its_path(tmp_path, monkeypatch, warehouse):
    monkeypatch.delenv("TAILRACE_WAREHOUSE", raising=False)
    if warehouse is not None:
        monkeypatch.setenv("TAILRACE_WAREHOUSE", str(tmp_path / warehouse))
    query = load(declare(tmp_path, "readings"))
    assert [asset.uri for asset in assets.sources(query)] == [query.streams["readings"].uri]
