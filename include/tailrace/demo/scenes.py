"""What the demonstration does with a query: stream it, correct it, hold every answer against the truth, drain it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tailrace.demo.narration import line, summary
from tailrace.demo.truth import given, share_found, share_off, share_right, truth
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.disorder.quality_promise import QualityPromise
from tailrace.ground.polling import polls
from tailrace.orchestration.airflow_api import Api
from tailrace.orchestration.embedded_airflow import EmbeddedAirflow
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.proposals import Proposals
from tailrace.storage.results import read_answers
from tailrace.storage.status import Status
from tailrace.terminal import screen

_LOOK_S, _PATIENCE_S = 1.0, 1800.0  # on a busy laptop each start of Spark takes minutes
_DONE = ("success", "failed")
_BY_THEMSELVES = "asset_triggered"


@dataclass(frozen=True)
class Scene:
    """A query on the stage: `home` is the demonstration's, which holds its tables."""

    query: Query
    home: Path
    airflow: EmbeddedAirflow
    api: Api

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def layout(self) -> Layout:
        return Layout.of(self.home / "tables", self.name)

    def unpause(self) -> None:
        """Let Airflow run the query's DAGs, as soon as it has found them."""
        for dag in (f"stream_{self.name}", f"correct_{self.name}", f"calibrate_{self.name}"):
            self._until(partial(self._has, dag), f"Airflow does not find {dag}", Path("dags"))
            self.api.call("PATCH", f"dags/{dag}", {"is_paused": False})

    def stream(self, calibrate_at: int | None = None) -> str:
        """Trigger the stream, and show how it stands until it has read everything and is quiet; returns its run.

        Parameters
        ----------
        calibrate_at : int, optional
            When so many rows were read, it is calibrated, while it goes on.
        """
        run, told, by_themselves = self.api.trigger(f"stream_{self.name}"), None, self.query.correction.gap is not None
        calibration: str | None = None

        def quiet() -> bool:
            nonlocal told, calibrate_at, calibration
            corrections = self._corrections(_BY_THEMSELVES)["success"] if by_themselves else None
            said = Status.read(self.layout)
            if said is not None and (said.batches, said.state, corrections) != told:
                told = said.batches, said.state, corrections
                screen.err.print(line(said, corrections), soft_wrap=True)
            if said is not None and calibrate_at is not None and said.rows >= calibrate_at:
                screen.err.print(
                    f"calibrate_{self.name} is triggered by hand, while the stream goes on", soft_wrap=True
                )
                calibration = self.api.trigger(f"calibrate_{self.name}")
                calibrate_at = None
            states = self._states(f"dags/stream_{self.name}/dagRuns/{run}/taskInstances", "task_instances")
            if "failed" in states:
                raise RuntimeError(f"stream_{self.name} failed; the logs are in {self.airflow.directory}/logs")
            return said is not None and said.state == "quiet"

        self._until(quiet, "the stream did not come to its end", self.home)
        if calibration is not None:
            self._calibrated(calibration)
        return run

    def backfill(self, start: str, end: str) -> None:
        """Correct the intervals of arrival between two times of the query's schedule."""
        words = ("backfill", "create", "--dag-id", f"correct_{self.name}", "--from-date", start, "--to-date", end)
        screen.err.print(f"airflow {shlex.join(words)}", soft_wrap=True)
        done = self.airflow.command(*words)
        if done.returncode:
            raise RuntimeError(f"the backfill was refused: {done.stderr[-2000:] or done.stdout[-2000:]}")
        self._corrected("backfill")

    def correct_the_rest(self) -> None:
        """Let the corrections that started by themselves come to their end, and correct what spans less than Γ."""
        if self._corrections(_BY_THEMSELVES):
            self._corrected(_BY_THEMSELVES)
        rest = "" if self.query.correction.gap is None else ", for what spans less than Γ"
        screen.err.print(f"correct_{self.name} is triggered by hand{rest}", soft_wrap=True)
        self.api.trigger(f"correct_{self.name}")
        self._corrected("manual")

    def compare(self) -> bool:
        """Hold both versions against the truth, and show it; True when every corrected answer is right."""
        streamed, corrected = (read_answers(self.query, self.home / "tables", now)[0] for now in (True, False))
        true, policy = truth(self.query), self.query.policy
        rights = [share_right(answers, true) for answers in (streamed, corrected)]
        shares = {"windows right" if self.query.topk is None else "windows whole, and ranked right": rights}
        if isinstance(policy, QualityPromise):
            told = f"windows {policy.error:.0%} or more off (promised: {policy.risk:.0%} at most)"
            shares[told] = [share_off(answers, true, policy.error) for answers in (streamed, corrected)]
        if self.query.topk is not None:
            promised = f" (promised: {policy.accuracy:.0%})" if isinstance(policy, CacheDuration) else ""
            shares[f"of the correct top-k{promised}"] = [
                share_found(answers, true) for answers in (streamed, corrected)
            ]
        screen.out.print(summary(self.query, streamed, corrected, shares, len(true)))
        return rights[1] == 1 and len(given(corrected)) == len(true)

    def drain(self, run: str) -> None:
        """End the stream, by marking its run as a success."""
        screen.err.print(f"draining {self.name}: the run of stream_{self.name} is marked as a success", soft_wrap=True)
        self.api.call("PATCH", f"dags/stream_{self.name}/dagRuns/{run}", {"state": "success"})
        self._until(lambda: self._state() == "drained", "the driver did not drain", self.home)

    def _calibrated(self, run: str) -> None:
        """Show what a calibration has found, when it is over."""
        path, state = f"dags/calibrate_{self.name}/dagRuns/{run}", ""

        def over() -> bool:
            nonlocal state
            state = str(self.api.call("GET", path)["state"])
            return state in _DONE

        self._until(over, f"the calibration of {self.name} did not come to its end", self.airflow.directory)
        found = Proposals(self.layout).newest(self.query.policy.model_dump_json())
        if state == "failed" or found is None:
            raise RuntimeError(f"the calibration proposed nothing; its log is in {self.airflow.directory}/logs")
        screen.err.print(found.evidence, soft_wrap=True)

    def _corrected(self, run_type: str) -> None:
        """Show the corrections of a type until all of them are over."""
        told: Counter[str] = Counter()

        def over() -> bool:
            nonlocal told
            runs = self._corrections(run_type)
            if runs != told:
                told = runs
                screen.err.print("  ".join(f"{count} {state}" for state, count in sorted(runs.items())))
            return bool(runs) and all(state in _DONE for state in runs)

        self._until(over, f"the corrections of {self.name} did not come to their end", self.airflow.directory)
        if told["failed"]:
            raise RuntimeError(f"{told['failed']} corrections failed; their logs are in {self.airflow.directory}/logs")

    def _corrections(self, run_type: str) -> Counter[str]:
        return self._states(f"dags/correct_{self.name}/dagRuns", "dag_runs", run_type=run_type)

    def _has(self, dag: str) -> bool:
        return any(one["dag_id"] == dag for one in self.api.call("GET", "dags")["dags"])

    def _states(self, path: str, what: str, **query: Any) -> Counter[str]:
        return Counter(str(one["state"]) for one in self.api.call("GET", path, **query)[what])

    def _state(self) -> str | None:
        said = Status.read(self.layout)
        return None if said is None else said.state

    @staticmethod
    def _until(there: Callable[[], bool], wrong: str, where: Path) -> None:
        if not any(there() for _ in polls(_PATIENCE_S, _LOOK_S)):
            raise RuntimeError(f"{wrong} within {_PATIENCE_S:.0f} s; see {where}")
