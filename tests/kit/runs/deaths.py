"""Deaths of a process between two of its writes: a driver, a correction or a calibration ends there as by kill -9.

`deaths(patch)` makes a step of every write to a query's tables, the journal, the states of tasks and the note of
written batches, and of each part of a compaction. `Deaths.after(n)` lets the n-th step from now be the last: nothing
after it is written, and what an append had staged stays there; `Deaths.at(name, n)` ends it before the n-th step of a
name. All is in process, so a death costs nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.table import TableOptimizer

from tailrace.engine.task_states import TaskStates
from tailrace.ground.files.atomic_files import new_file
from tailrace.storage.journal import Journal
from tailrace.storage.tables import Tables
from tailrace.stream import sink


class Died(BaseException):
    """A process died: no handler of errors sees it."""


@dataclass
class Deaths:
    """The steps that were taken, by name, and the number of steps that are left; None: it does not die.

    `counted`: the only steps that count, by their name; None: all of them.
    """

    taken: list[str] = field(default_factory=list)
    left: int | None = None
    counted: str | None = None

    def step(self, name: str) -> None:
        """Take a step.

        Raises
        ------
        Died
            When no step is left.
        """
        if self.left is not None and self.counted in (None, name):
            self.left -= 1
            if self.left < 0:
                raise Died(name)
        self.taken.append(name)

    @contextmanager
    def after(self, steps: int | None) -> Iterator[None]:
        """Let what runs inside take so many steps only, and catch its death; None: it lives."""
        self.left = steps
        try:
            yield
        except Died:
            pass
        finally:
            self.left = self.counted = None

    @contextmanager
    def at(self, name: str, number: int) -> Iterator[None]:
        """Let what runs inside die before the `number`-th step of this name, from 1, and catch its death.

        Raises
        ------
        AssertionError
            When it does not come to that.
        """
        self.left, self.counted = number - 1, name
        try:
            yield
        except Died:
            return
        finally:
            self.left = self.counted = None
        raise AssertionError(f"it did not come to {name} {number} times")


def deaths(patch: pytest.MonkeyPatch) -> Deaths:
    """Make steps of all writes, until the patch is undone."""
    found = Deaths()
    for owner, method, *label in (
        *((Tables, name) for name in ("replace", "put", "add")),
        *((DeltaTable, name) for name in ("vacuum", "create_checkpoint", "cleanup_metadata")),
        (TableOptimizer, "compact"),
        (Journal, "append"),
        (TaskStates, "write", "state"),
    ):
        _make_step(patch, owner, method, found, *label)
    append, record = Tables.append, sink.record_written

    def staged_first(self, name, rows, app, number):
        try:
            found.step(f"append {name}")
        except Died:
            if rows.schema.names[:1] != ["path"]:
                with new_file(self.layout.table(name) / f"part-staged-and-lost-{next(_numbers)}.parquet") as file:
                    pq.write_table(rows, file)
            raise
        return append(self, name, rows, app, number)

    def record_as_a_step(*arguments):
        found.step("record_written")
        return record(*arguments)

    patch.setattr(Tables, "append", staged_first)
    patch.setattr(sink, "record_written", record_as_a_step)
    return found


_numbers = itertools.count()


def _make_step(patch: pytest.MonkeyPatch, owner: type, name: str, found: Deaths, label: str = "") -> None:
    method = getattr(owner, name)

    def first(self, *arguments, **named):
        if not named.get("dry_run"):  # that writes nothing
            found.step(label or name)
        return method(self, *arguments, **named)

    patch.setattr(owner, name, first)
