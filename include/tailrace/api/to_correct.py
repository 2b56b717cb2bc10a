"""The late tuples of a stream that wait for a correction, and what corrects them, as each status shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tailrace.correction.uncorrected import count_uncorrected
from tailrace.ground.command_line import CommandLine
from tailrace.ground.words import counted
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.query_file import QueryFile


@dataclass(frozen=True)
class ToCorrect:
    """The late tuples of a stream that wait for a correction.

    Attributes
    ----------
    late : int
        The number of them.
    command : CommandLine
        The commands about the query, with its file where that is known.
    dag : str or None
        The DAG that corrects them; None without Airflow.
    """

    late: int
    command: CommandLine
    dag: str | None = None

    @staticmethod
    def read(layout: Layout, file: Path | None = None, dag: str | None = None) -> ToCorrect:
        """Read what a stream has to correct; its file is by default the one of its last run, where that is noted."""
        noted = QueryFile.read(layout) if file is None else QueryFile(layout, file)
        file, streams = (None, None) if noted is None else (noted.file, noted.streams)
        command = CommandLine(file, str(layout.home.parent), streams)
        return ToCorrect(count_uncorrected(OpenedTables(layout)), command, dag)

    def lines(self) -> Iterator[str]:
        """Yield how many tuples wait, with what corrects them; nothing where none waits."""
        if self.late:
            dag = "" if self.dag is None else f"; or the DAG, unpaused: airflow dags trigger {self.dag}"
            yield f"{counted(self.late, 'late tuple')} to correct: {self.command('correct')}{dag}"
