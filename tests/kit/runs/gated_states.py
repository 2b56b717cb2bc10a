"""States of tasks, the second of which to be written for a batch waits; Spark's workers import this file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kit.suite.waiting import until
from tailrace.engine.task_states import CLOCK, TaskStates


@dataclass(frozen=True)
class GatedStates(TaskStates):
    """The states of two tasks: when one has written its state, the other one makes the file `reached` and waits.

    Attributes
    ----------
    gate : Path
        The directory of the files `first` and `written`, of the task that does not wait, of `reached`, and of `go`,
        which ends the wait.
    """

    gate: Path = Path()

    def write(self, owner, batch, state):
        if owner == CLOCK:
            super().write(owner, batch, state)
            return
        try:
            (self.gate / "first").touch(exist_ok=False)
        except FileExistsError:
            self._await("written")
            (self.gate / "reached").touch()
            self._await("go")
            super().write(owner, batch, state)
        else:
            super().write(owner, batch, state)
            (self.gate / "written").touch()

    def _await(self, name: str) -> None:
        until((self.gate / name).exists, f"somebody makes {self.gate / name}")
