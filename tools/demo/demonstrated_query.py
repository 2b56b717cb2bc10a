"""The steps of the demonstration with a query: stream, correct, compare every answer with the truth, drain."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from demo.comparison import compare
from demo.printed_texts import progress_table, summary, texts
from demo.topics import Sending
from tailrace.embedded.airflow_api import Api
from tailrace.embedded.embedded_airflow import EmbeddedAirflow
from tailrace.ground.polling import polls
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.proposals import Proposals
from tailrace.storage.results import read_answers
from tailrace.storage.status import Status
from tailrace.terminal import screen

POLL_S, PATIENCE_S = 1.0, 1800.0  # on a busy laptop each start of Spark takes minutes
_FINAL_STATES = ("success", "failed")
_AUTOMATIC = "asset_triggered"


@dataclass(frozen=True)
class DemoQuery:
    """A query of the demonstration; `home` is the directory of the demonstration, which holds its tables.

    `sent`: the files with what is sent to the topic that the query reads, if it reads one.
    """

    query: Query
    home: Path
    airflow: EmbeddedAirflow
    api: Api
    sent: Path | None = None

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def layout(self) -> Layout:
        return Layout.for_query(self.home / "tables", self.name)

    def unpause(self) -> None:
        """Unpause the query's DAGs in Airflow, as soon as it has found them."""
        kinds = ("stream", "correct", "calibrate") if self.query.has_late_tuples else ("stream",)
        for dag in (f"{kind}_{self.name}" for kind in kinds):
            self._wait_until(partial(self._has, dag), f"Airflow does not find {dag}", Path("dags"))
            self.api.call("PATCH", f"dags/{dag}", {"is_paused": False})

    def stream(
        self,
        calibrate_at: int | None = None,
        begun: Callable[[], None] | None = None,
        sending: Sending | None = None,
    ) -> str:
        """Trigger the stream, and print its progress until it has read everything and is quiet; return its run id.

        Parameters
        ----------
        calibrate_at : int, optional
            Number of rows after which a calibration is triggered, while the stream goes on.
        begun : callable, optional
            Called once, when the stream has read its first rows.
        sending : Sending, optional
            Sends the rows that the stream reads: it has read everything when it has read all of these.
        """
        run, is_automatic = self.api.trigger(f"stream_{self.name}"), self.query.correction.gap is not None
        table, last_progress = progress_table(screen.err.width, is_automatic), None
        calibration: str | None = None

        def is_quiet() -> bool:
            nonlocal last_progress, calibrate_at, calibration, begun
            corrections = self._corrections(_AUTOMATIC)["success"] if is_automatic else None
            status = Status.read(self.layout)
            if status is not None and (status.batches, status.state, corrections) != last_progress:
                last_progress = status.batches, status.state, corrections
                for line in table.lines(texts(status, corrections)):
                    screen.err.print(line, markup=False, soft_wrap=True)
            if status is not None and calibrate_at is not None and status.rows >= calibrate_at:
                screen.err.print(
                    f"calibrate_{self.name} is triggered by hand, while the stream goes on", soft_wrap=True
                )
                calibration = self.api.trigger(f"calibrate_{self.name}")
                calibrate_at = None
            if status is not None and status.rows and begun is not None:
                begun()
                begun = None
            self._require_no_failure(run)
            if sending is not None:
                sending.require_success()
            is_whole = status is not None and (sending is None or status.rows >= sending.rows)
            return is_whole and status is not None and status.state == "quiet"

        self._wait_until(is_quiet, "the stream did not come to its end", self.home)
        if calibration is not None:
            self._calibrated(calibration)
        return run

    def deploy(self, conf: Mapping[str, Any]) -> str:
        """Trigger the stream, and return its run id; `conf` has what is not as the form of its DAG has it."""
        return self.api.trigger(f"stream_{self.name}", conf)

    def await_scheduled_correction(self, run: str) -> None:
        """Wait until a correction by schedule has ended; Airflow starts the first one when its DAG is unpaused.

        Parameters
        ----------
        run : str
            The stream's run: without its stream no correction comes to its end.
        """
        self._show_corrections("scheduled", partial(self._require_no_failure, run), enough=any)

    def await_scheduled_calibration(self) -> None:
        """Wait for the end of the calibration that Airflow starts when its DAG is unpaused; print that it failed.

        It proposes nothing if the stream has not begun.
        """

        def is_over() -> bool:
            states = self._states(f"dags/calibrate_{self.name}/dagRuns", "dag_runs", run_type="scheduled")
            is_over = bool(states) and set(states) <= set(_FINAL_STATES)
            if is_over and "failed" in states:
                logs = f"{self.airflow.directory}/logs"
                screen.err.print(f"calibrate_{self.name} failed; its log is in {logs}", markup=False, soft_wrap=True)
            return is_over

        self._wait_until(is_over, f"the calibration of {self.name} did not come to its end", self.airflow.directory)

    def backfill(self, start: str, end: str) -> None:
        """Correct the intervals of arrival between two times of the query's schedule, by an Airflow backfill."""
        arguments = ("backfill", "create", "--dag-id", f"correct_{self.name}", "--from-date", start, "--to-date", end)
        screen.err.print(f"airflow {shlex.join(arguments)}", soft_wrap=True)
        process = self.airflow.command(*arguments)
        if process.returncode:
            raise RuntimeError(f"the backfill was refused: {process.stderr[-2000:] or process.stdout[-2000:]}")
        self._show_corrections("backfill")

    def correct_the_rest(self) -> None:
        """Wait for the corrections that started by themselves to end, then trigger one for the rest.

        Where the query has a gap Γ, the rest is what spans less than Γ.
        """
        if self._corrections(_AUTOMATIC):
            self._show_corrections(_AUTOMATIC)
        rest = "" if self.query.correction.gap is None else ", for what spans less than Γ"
        screen.err.print(f"correct_{self.name} is triggered by hand{rest}", soft_wrap=True)
        self.api.trigger(f"correct_{self.name}")
        self._show_corrections("manual")

    def compare(self) -> bool:
        """Compare the answers with the truth, and print the result; True when every final answer is right."""
        streamed = self.answers(as_streamed=True)
        corrected = self.answers() if self.query.has_late_tuples else None
        comparison = compare(self.query, streamed, corrected, self.sent)
        screen.out.print(summary(self.query, streamed, corrected, comparison))
        return comparison.is_right

    def answers(self, as_streamed: bool = False) -> pa.Table:
        """Read the answers as readers get them, or as the stream gave them."""
        return read_answers(self.query, self.home / "tables", as_streamed)[0]

    def drain(self, run: str) -> None:
        """Drain the stream by marking its run as a success, and wait until the driver has drained."""
        screen.err.print(f"draining {self.name}: the run of stream_{self.name} is marked as a success", soft_wrap=True)
        self.api.call("PATCH", f"dags/stream_{self.name}/dagRuns/{run}", {"state": "success"})
        self._wait_until(lambda: self._state() == "drained", "the driver did not drain", self.home)

    def _calibrated(self, run: str) -> None:
        """Wait for a calibration to end, and print the evidence of its proposal."""
        path, state = f"dags/calibrate_{self.name}/dagRuns/{run}", ""

        def is_over() -> bool:
            nonlocal state
            state = str(self.api.call("GET", path)["state"])
            return state in _FINAL_STATES

        self._wait_until(is_over, f"the calibration of {self.name} did not come to its end", self.airflow.directory)
        proposal = Proposals(self.layout).newest(self.query.policy)
        if state == "failed" or proposal is None:
            raise RuntimeError(f"the calibration proposed nothing; its log is in {self.airflow.directory}/logs")
        screen.err.print(proposal.evidence, soft_wrap=True)

    def _require_no_failure(self, run: str) -> None:
        states = self._states(f"dags/stream_{self.name}/dagRuns/{run}/taskInstances", "task_instances")
        if "failed" in states:
            raise RuntimeError(f"stream_{self.name} failed; the logs are in {self.airflow.directory}/logs")

    def _show_corrections(
        self,
        run_type: str,
        check: Callable[[], None] = lambda: None,
        enough: Callable[[Iterable[bool]], bool] = all,
    ) -> None:
        """Print the states of the corrections of a run type until all, or any, are over.

        `check` raises why none would be.
        """
        last_states: Counter[str] = Counter()

        def is_over() -> bool:
            nonlocal last_states
            check()
            states = self._corrections(run_type)
            if states != last_states:
                last_states = states
                screen.err.print("  ".join(f"{count} {state}" for state, count in sorted(states.items())))
            return bool(states) and enough(state in _FINAL_STATES for state in states)

        self._wait_until(is_over, f"the corrections of {self.name} did not come to their end", self.airflow.directory)
        if last_states["failed"]:
            raise RuntimeError(
                f"{last_states['failed']} corrections failed; their logs are in {self.airflow.directory}/logs"
            )

    def _corrections(self, run_type: str) -> Counter[str]:
        return self._states(f"dags/correct_{self.name}/dagRuns", "dag_runs", run_type=run_type)

    def _has(self, dag: str) -> bool:
        return any(entry["dag_id"] == dag for entry in self.api.call("GET", "dags", dag_id_pattern=dag)["dags"])

    def _states(self, path: str, list_name: str, **query: Any) -> Counter[str]:
        return Counter(str(entry["state"]) for entry in self.api.call("GET", path, **query)[list_name])

    def _state(self) -> str | None:
        status = Status.read(self.layout)
        return None if status is None else status.state

    @staticmethod
    def _wait_until(condition: Callable[[], bool], wrong: str, where: Path) -> None:
        if not any(condition() for _ in polls(PATIENCE_S, POLL_S)):
            raise RuntimeError(f"{wrong} within {PATIENCE_S:.0f} s; see {where}")
