"""A driver of a kind's query over streams with late tuples, and its table `current`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kit.runs.deaths import Died
from kit.runs.kind_streams import TABLE_JOIN, disturbed_rows, query_of, sides_of, write_files
from kit.runs.local_driver import Driver, correct_here
from kit.runs.warehouse import EPOCH
from tailrace.correction.correction_range import CorrectionRange
from tailrace.delivery import current
from tailrace.delivery.current import refresh
from tailrace.query.answers_section import CURRENT
from tailrace.query.query import Query
from tailrace.storage.results import read_answers
from tailrace.tables.every import in_ms

PER_FILE = 24


def rows_of(table: pa.Table) -> list[str]:
    return sorted(str({name: row[name] for name in sorted(row)}) for row in in_ms(table, "results").to_pylist())


class Desk:
    """A driver of a kind's query, over streams with late tuples, repeats and poison."""

    def __init__(self, name: str, directory: Path, seed: int) -> None:
        self.name, self.directory, self.draw = name, directory, random.Random(seed)
        self.files = {
            side: disturbed_rows(side, 10 * PER_FILE, random.Random(f"{side}{seed}")) for side in sides_of(name)
        }
        self.written = 0
        self.write()
        self.driver = Driver(query_of(name, directory), directory / "wh")

    def write(self) -> None:
        for side, rows in self.files.items():
            write_files(rows[self.written : self.written + PER_FILE], self.directory / side, PER_FILE)
        self.written += PER_FILE

    @property
    def query(self) -> Query:
        return self.driver.query.fixed_by(self.driver.layout.manifest().structure)

    def refresh(self) -> int:
        return refresh(self.driver.layout, self.query, self.driver.pipeline.kind)

    @property
    def table(self) -> Path:
        return Path(self.driver.layout.table(CURRENT))

    def version(self) -> int:
        return DeltaTable(str(self.table)).version()

    def current(self) -> pa.Table:
        return DeltaTable(str(self.table)).to_pyarrow_table()

    def correct(self) -> None:
        if self.name == TABLE_JOIN:
            return
        points = sorted(EPOCH + 100 * self.draw.randrange(100) for _ in range(2))
        some = CorrectionRange(points[0], points[1] + 100, arrival=False)
        correct_here(self.driver.query, self.driver.warehouse, self.draw.choice([some, some, CorrectionRange()]))

    def assert_equal(self) -> None:
        rows, columns = read_answers(self.driver.query, self.driver.warehouse, streamed=False)
        current = self.current()
        assert current.column_names == columns
        assert rows_of(current) == rows_of(rows.select(columns))


class Dying:
    """Lets a refresh die before or after one of its commits."""

    def __init__(self, patch: pytest.MonkeyPatch, draw: random.Random) -> None:
        self.patch, self.draw = patch, draw

    def at_a_commit(self) -> AbstractContextManager[None]:
        return self.at_commit(self.draw.randrange(2), is_done=self.draw.random() < 0.5)

    @contextmanager
    def at_commit(self, left: int, is_done: bool = False) -> Iterator[None]:
        write = current.write_deltalake

        def write_or_die(*arguments, **named):
            nonlocal left
            left -= 1
            if left >= 0:
                return write(*arguments, **named)
            if is_done:
                write(*arguments, **named)
            raise Died

        with self.patch.context() as patch, suppress(Died):
            patch.setattr(current, "write_deltalake", write_or_die)
            yield


def with_corrections(name: str, directory: Path) -> Desk:
    """A query with corrected answers that `current` had before they were corrected."""
    desk = Desk(name, directory, seed=3)
    for _ in range(3):
        desk.write()
    desk.driver.run(1000, flush=True)
    desk.refresh()
    correct_here(desk.driver.query, desk.driver.warehouse)
    return desk
