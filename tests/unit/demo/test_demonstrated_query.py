"""The demonstration's requests to Airflow, in order, against a scripted API."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from checkout_commands import DEV
from demo import demonstrated_query, scenarios, walkthrough
from demo.demonstrated_query import DemoQuery
from demo.generated_data import DISTRICTS, METERS
from tailrace.cli.commands import main
from tailrace.ground.errors import Refused
from tailrace.query.loading import load
from tailrace.storage.status import Status

FLIGHTS = Path(__file__).parents[3] / "include" / "queries" / "flights.yaml"


class Airflow:
    """Scripted API: one list of run states for each poll of a run type; the last list repeats."""

    directory, calibration, tasks = Path("airflow"), "success", ()
    dags = ("stream_districts", "stream_flights", "correct_flights", "calibrate_flights")

    def __init__(self, **polls: list[list[str]]) -> None:
        self._looks, self.asked = polls, list[str]()

    def call(self, method: str, path: str, body: dict | None = None, **query: str) -> dict:
        if path == "dags":
            return {"dags": [{"dag_id": dag} for dag in self.dags]}
        if method == "PATCH":
            self.asked.append(f"{path} {body}")
        if "run_type" not in query:
            return {"task_instances": self.tasks, "state": self.calibration}
        polls = self._looks.get(query["run_type"], [[]])
        states = polls.pop(0) if len(polls) > 1 else polls[0]
        self.asked.append(" ".join([query["run_type"], *states]))
        return {"dag_runs": [{"state": state} for state in states]}

    def trigger(self, dag: str, conf: dict | None = None) -> str:
        self.asked.append(f"dags/{dag}/dagRuns")
        return "run"


@pytest.fixture
def demo_query(tmp_path, monkeypatch):
    monkeypatch.setattr(demonstrated_query, "POLL_S", 0)

    def build(file: Path = FLIGHTS, **polls: list[list[str]]) -> DemoQuery:
        airflow = Airflow(**polls)
        return DemoQuery(load(file), tmp_path, airflow, airflow)

    return build


def test_the_rest_is_corrected_after_the_asset_triggered_corrections_have_ended(demo_query):
    asset_triggered_polls = [["success", "running"], ["success", "running"], ["success", "success"]]
    demonstration = demo_query(asset_triggered=asset_triggered_polls, manual=[["queued"], ["success"]])
    demonstration.correct_the_rest()
    manual_trigger = demonstration.api.asked.index("dags/correct_flights/dagRuns")
    assert demonstration.api.asked[manual_trigger - 1] == "asset_triggered success success"
    assert demonstration.api.asked[manual_trigger + 1 :] == ["manual queued", "manual success"]


def test_without_asset_triggered_corrections_nothing_is_waited_for(demo_query):
    demonstration = demo_query(manual=[["success"]])
    demonstration.correct_the_rest()
    assert demonstration.api.asked == ["asset_triggered", "dags/correct_flights/dagRuns", "manual success"]


def test_a_failed_correction_is_an_error(demo_query):
    with pytest.raises(RuntimeError, match="1 corrections failed; their logs are in airflow/logs"):
        demo_query(asset_triggered=[["success", "failed"]]).correct_the_rest()


def test_the_scheduled_correction_of_a_living_stream_is_waited_for(demo_query):
    demonstration = demo_query(scheduled=[["queued"], ["success", "running"]])
    demonstration.await_scheduled_correction(demonstration.deploy({"batch_rows": 10}))
    assert demonstration.api.asked == ["dags/stream_flights/dagRuns", "scheduled queued", "scheduled success running"]


def test_the_calibration_that_comes_with_unpausing_is_waited_for_whatever_it_finds(demo_query, capsys):
    demonstration = demo_query(scheduled=[[], ["queued"], ["running"], ["failed"], ["success"]])
    demonstration.await_scheduled_calibration()
    assert demonstration.api.asked == ["scheduled", "scheduled queued", "scheduled running", "scheduled failed"]
    assert capsys.readouterr().err == "calibrate_flights failed; its log is in airflow/logs\n"


def test_where_the_living_stream_fails_its_correction_is_not_waited_for(demo_query, monkeypatch):
    monkeypatch.setattr(Airflow, "tasks", [{"state": "failed"}])
    demonstration = demo_query(scheduled=[["running"], ["success"]])
    with pytest.raises(RuntimeError, match="stream_flights failed; the logs are in airflow/logs"):
        demonstration.await_scheduled_correction("run")


def test_corrections_that_never_end_are_an_error(demo_query, monkeypatch):
    monkeypatch.setattr(demonstrated_query, "PATIENCE_S", 0)
    with pytest.raises(RuntimeError, match="the corrections of flights did not come to their end within 0 s"):
        demo_query(manual=[["running"]]).correct_the_rest()


@pytest.mark.parametrize(("at", "dags"), [(500, ["stream", "calibrate"]), (900, ["stream"]), (None, ["stream"])])
def test_a_stream_is_calibrated_once_when_enough_rows_were_read(demo_query, monkeypatch, at, dags):
    rows = [0, 100, 600, 700, 800]
    statuses = [None, *(Status("streaming", 1, 0, 0, i, rows=count) for i, count in enumerate(rows))]
    statuses.append(replace(statuses[-1], state="quiet"))
    monkeypatch.setattr(demonstrated_query.Status, "read", staticmethod(lambda layout: statuses.pop(0)))
    monkeypatch.setattr(demonstrated_query, "Proposals", proposals_stub("4.2 s gives 0.9511"))
    demonstration = demo_query()
    assert demonstration.stream(at) == "run"
    assert demonstration.api.asked == [f"dags/{dag}_flights/dagRuns" for dag in dags]
    assert not statuses


def test_what_begins_beside_a_stream_does_so_once_when_it_has_read_rows(demo_query, monkeypatch):
    statuses = [None, *(Status("streaming", 1, 0, 0, rows, rows=rows) for rows in (0, 5, 6))]
    statuses.append(replace(statuses[-1], state="quiet"))
    monkeypatch.setattr(demonstrated_query.Status, "read", staticmethod(lambda layout: statuses.pop(0)))
    left = []
    demo_query().stream(begun=lambda: left.append(len(statuses)))
    assert left == [2]


def test_a_stream_of_a_topic_is_quiet_only_when_it_has_read_what_is_sent(demo_query, monkeypatch):
    statuses = [Status("quiet", 1, 0, 0, i, rows=rows) for i, rows in enumerate((0, 99, 100, 100))]
    statuses.insert(2, replace(statuses[2], state="streaming"))
    monkeypatch.setattr(demonstrated_query.Status, "read", staticmethod(lambda layout: statuses.pop(0)))
    sending = SimpleNamespace(rows=100, require_success=lambda: None)
    assert demo_query().stream(sending=sending) == "run"
    assert len(statuses) == 1


def test_readings_that_can_not_be_sent_end_the_demonstration(demo_query, monkeypatch):
    def fail() -> None:
        raise ConnectionError("the readings could not be sent: no broker")

    monkeypatch.setattr(demonstrated_query.Status, "read", staticmethod(lambda layout: None))
    with pytest.raises(ConnectionError, match="no broker"):
        demo_query().stream(sending=SimpleNamespace(rows=100, require_success=fail))


@pytest.mark.parametrize(("tables", "topic"), [(True, True), (True, False), (False, True)])
def test_a_query_between_topics_is_right_where_its_tables_and_its_topic_are(
    demo_query, monkeypatch, tmp_path, tables, topic
):
    begun = []
    sending = SimpleNamespace(begin=lambda: begun.append("sending"))
    demonstration = replace(demo_query(METERS), sent=tmp_path)
    monkeypatch.setattr(scenarios, "Sending", lambda files, source: sending)
    monkeypatch.setattr(DemoQuery, "unpause", lambda self: None)
    monkeypatch.setattr(DemoQuery, "stream", lambda self, at, sending: begun.append(sending) or "run")
    monkeypatch.setattr(DemoQuery, "correct_the_rest", lambda self: begun.append("corrected"))
    monkeypatch.setattr(DemoQuery, "compare", lambda self: tables)
    monkeypatch.setattr(scenarios, "check_topic", lambda query, sent: ("", topic))
    told = []
    assert scenarios.meters(demonstration, told.append) == ("run", tables and topic)
    assert begun == ["sending", sending, "corrected"]
    assert "from topic meters to topic meter_answers" in told[0]


def proposals_stub(evidence: str | None):
    """Stand-in for `Proposals` whose newest proposal has this evidence; with None there is no proposal."""
    newest = None if evidence is None else SimpleNamespace(evidence=evidence)
    return lambda layout: SimpleNamespace(newest=lambda declared: newest)


@pytest.mark.parametrize(("state", "evidence"), [("failed", "an earlier one"), ("success", None)])
def test_a_calibration_that_proposes_nothing_is_an_error(demo_query, monkeypatch, state, evidence):
    monkeypatch.setattr(demonstrated_query, "Proposals", proposals_stub(evidence))
    demonstration = demo_query()
    demonstration.api.calibration = state
    with pytest.raises(RuntimeError, match="the calibration proposed nothing; its log is in airflow/logs"):
        demonstration._calibrated("run")


@pytest.mark.parametrize(
    ("file", "dags"), [(FLIGHTS, ["stream", "correct", "calibrate"]), (DISTRICTS, ["stream"])], ids=["flights", "table"]
)
def test_a_join_with_a_table_has_no_corrections_and_no_calibrations_to_unpause(demo_query, file, dags):
    demonstration = demo_query(file)
    demonstration.unpause()
    assert demonstration.api.asked == [f"dags/{dag}_{file.stem} {{'is_paused': False}}" for dag in dags]


def test_a_join_with_a_table_is_streamed_and_compared_and_not_corrected(demo_query, monkeypatch):
    demonstration, versions, told = demo_query(DISTRICTS), [], []
    answers = pa.table({"left_id": ["1-000000"], "right_id": ["Haidian"]})
    monkeypatch.setattr(DemoQuery, "stream", lambda self: "run")
    monkeypatch.setattr(demonstrated_query, "read_answers", lambda query, warehouse, streamed: (answers, []))
    monkeypatch.setattr(
        demonstrated_query, "compare", lambda query, *given: versions.append(given) or SimpleNamespace(is_right=True)
    )
    monkeypatch.setattr(demonstrated_query, "summary", lambda *_: "")
    assert scenarios.districts(demonstration, told.append) == ("run", True)
    assert versions == [(answers, None, None)]
    assert len(told) == 2
    assert not [asked for asked in demonstration.api.asked if "correct" in asked]


def test_without_matplotlib_the_map_is_refused_before_anything_is_started(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(walkthrough, "Inventory", lambda _: pytest.fail("it was not refused"))
    monkeypatch.chdir(FLIGHTS.parents[2])
    with pytest.raises(Refused, match=r"--spatial: matplotlib is not installed"):
        walkthrough.demonstrate(tmp_path / "home", bounded=True, spatial=True)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(("right", "code"), [(True, 0), (False, 1)])
@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ([], (False, False, False, False, False, 600.0, False, False)),
        (["--bounded", "--game2"], (True, True, False, False, False, 600.0, False, False)),
        (["--topk", "--emd", "--start-s", "900"], (False, False, True, True, False, 900.0, False, False)),
        (["--bounded", "--spatial", "--cluster"], (True, False, False, False, True, 600.0, True, False)),
        (["--bounded", "--kafka"], (True, False, False, False, False, 600.0, False, True)),
    ],
)
def test_the_command_passes_its_flags_on_and_fails_when_an_answer_is_wrong(
    monkeypatch, tmp_path, flags, options, right, code
):
    calls = []

    def demonstrate(*arguments: object) -> bool:
        calls.append(arguments)
        return right

    monkeypatch.setattr(walkthrough, "demonstrate", demonstrate)
    monkeypatch.setattr("sys.argv", ["dev", "demo", "--warehouse", str(tmp_path), *flags])
    with pytest.raises(SystemExit) as exit_info:
        main(program=DEV)
    assert (exit_info.value.code or 0) == code
    assert calls == [(tmp_path, *options)]


def test_steps_are_numbered(monkeypatch):
    titles = []
    monkeypatch.setattr(walkthrough.screen, "err", SimpleNamespace(rule=titles.append))
    step = walkthrough._Steps(6)
    step("one")
    step("two")
    assert titles == ["1 ∕ 6  one", "2 ∕ 6  two"]
