"""What the demonstration asks of Airflow, and when: against an API that answers as a script says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tailrace.cli import commands
from tailrace.demo import scenes, walkthrough
from tailrace.demo.scenes import Scene
from tailrace.query.loading import load
from tailrace.storage.status import Status

FLIGHTS = Path(__file__).parents[3] / "include" / "queries" / "flights.yaml"


class Airflow:
    """Gives out the states of the runs of each type, one look after the other; the last ones stay."""

    directory, calibration = Path("airflow"), "success"

    def __init__(self, **looks: list[list[str]]) -> None:
        self._looks, self.asked = looks, list[str]()

    def call(self, method: str, path: str, body: dict | None = None, **query: str) -> dict:
        if "run_type" not in query:
            return {"task_instances": [], "state": self.calibration}
        looks = self._looks.get(query["run_type"], [[]])
        states = looks.pop(0) if len(looks) > 1 else looks[0]
        self.asked.append(" ".join([query["run_type"], *states]))
        return {"dag_runs": [{"state": state} for state in states]}

    def trigger(self, dag: str) -> str:
        self.asked.append(f"dags/{dag}/dagRuns")
        return "run"


@pytest.fixture
def scene(tmp_path, monkeypatch):
    monkeypatch.setattr(scenes, "_LOOK_S", 0)

    def made(**looks: list[list[str]]) -> Scene:
        airflow = Airflow(**looks)
        return Scene(load(FLIGHTS), tmp_path, airflow, airflow)

    return made


def test_the_rest_is_corrected_when_those_before_are_over(scene):
    by_themselves = [["success", "running"], ["success", "running"], ["success", "success"]]
    mine = scene(asset_triggered=by_themselves, manual=[["queued"], ["success"]])
    mine.correct_the_rest()
    by_hand = mine.api.asked.index("dags/correct_flights/dagRuns")
    assert mine.api.asked[by_hand - 1] == "asset_triggered success success"
    assert mine.api.asked[by_hand + 1 :] == ["manual queued", "manual success"]


def test_where_none_has_started_by_itself_none_is_waited_for(scene):
    mine = scene(manual=[["success"]])
    mine.correct_the_rest()
    assert mine.api.asked == ["asset_triggered", "dags/correct_flights/dagRuns", "manual success"]


def test_a_correction_that_fails_is_told(scene):
    with pytest.raises(RuntimeError, match="1 corrections failed; their logs are in airflow/logs"):
        scene(asset_triggered=[["success", "failed"]]).correct_the_rest()


def test_what_never_ends_is_told(scene, monkeypatch):
    monkeypatch.setattr(scenes, "_PATIENCE_S", 0)
    with pytest.raises(RuntimeError, match="the corrections of flights did not come to their end within 0 s"):
        scene(manual=[["running"]]).correct_the_rest()


@pytest.mark.parametrize(("at", "asked"), [(500, ["stream", "calibrate"]), (900, ["stream"]), (None, ["stream"])])
def test_a_stream_is_calibrated_once_on_the_way(scene, monkeypatch, at, asked):
    rows = [0, 100, 600, 700, 800]
    said = [None, *(Status("streaming", 1, 0, 0, i, rows=many) for i, many in enumerate(rows))]
    said.append(replace(said[-1], state="quiet"))
    monkeypatch.setattr(scenes.Status, "read", staticmethod(lambda layout: said.pop(0)))
    monkeypatch.setattr(scenes, "Proposals", found("4.2 s gives 0.9511"))
    mine = scene()
    assert mine.stream(at) == "run"
    assert mine.api.asked == [f"dags/{dag}_flights/dagRuns" for dag in asked]
    assert not said


def found(evidence: str | None):
    """In place of the proposals there are: the newest one."""
    newest = None if evidence is None else SimpleNamespace(evidence=evidence)
    return lambda layout: SimpleNamespace(newest=lambda declared: newest)


@pytest.mark.parametrize(("state", "evidence"), [("failed", "an earlier one"), ("success", None)])
def test_a_calibration_that_proposes_nothing_is_told(scene, monkeypatch, state, evidence):
    monkeypatch.setattr(scenes, "Proposals", found(evidence))
    mine = scene()
    mine.api.calibration = state
    with pytest.raises(RuntimeError, match="the calibration proposed nothing; its log is in airflow/logs"):
        mine._calibrated("run")


@pytest.mark.parametrize(("right", "code"), [(True, 0), (False, 1)])
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], (False, False, False, 600.0)),
        (["--bounded", "--game2"], (True, True, False, 600.0)),
        (["--topk", "--start-s", "900"], (False, False, True, 900.0)),
    ],
)
def test_the_command_takes_its_flags_and_fails_where_an_answer_is_wrong(
    monkeypatch, tmp_path, words, told, right, code
):
    calls = []

    def demonstrate(*given: object) -> bool:
        calls.append(given)
        return right

    monkeypatch.setattr(walkthrough, "demonstrate", demonstrate)
    monkeypatch.setattr("sys.argv", ["tailrace", "demo", "--warehouse", str(tmp_path), *words])
    with pytest.raises(SystemExit) as ended:
        commands.main()
    assert (ended.value.code or 0) == code
    assert calls == [(tmp_path, *told)]


def test_steps_are_numbered(monkeypatch):
    told = []
    monkeypatch.setattr(walkthrough.screen, "err", SimpleNamespace(rule=told.append))
    step = walkthrough._Steps(6)
    step("one")
    step("two")
    assert told == ["1 ∕ 6  one", "2 ∕ 6  two"]
