"""The late tuples and repeats of a stream that wait for a correction, and the command for it, as shown in a status."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tailrace.api.named import query_named
from tailrace.correction.repeated_answers import count_repeated
from tailrace.correction.uncorrected import count_uncorrected
from tailrace.ground.command_line import CommandLine
from tailrace.ground.errors import Refused
from tailrace.ground.words import counted
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.query_file import QueryFile


@dataclass(frozen=True)
class ToCorrect:
    """The late tuples and repeats of a stream that wait for a correction.

    Attributes
    ----------
    layout : Layout
        The folders and files of the query.
    late : int
        The number of late tuples.
    command : CommandLine
        The commands about the query, with its file if that is known.
    dag : str or None
        The DAG that corrects them; None without Airflow.
    """

    layout: Layout
    late: int
    command: CommandLine
    dag: str | None = None

    @staticmethod
    def read(layout: Layout, file: Path | None = None, dag: str | None = None) -> ToCorrect:
        """Read the state of a stream; its file is by default the one of its last run, if that is noted."""
        noted = QueryFile.read(layout) if file is None else QueryFile(layout, file)
        file, streams = (None, None) if noted is None else (noted.file, noted.streams)
        command = CommandLine(file, str(layout.home.parent), streams)
        return ToCorrect(layout, count_uncorrected(OpenedTables(layout)), command, dag)

    def lines(self) -> Iterator[str]:
        """Yield the numbers of waiting late tuples and answers with repeats, with the command; nothing if none wait."""
        dag = "" if self.dag is None else f"; or the DAG, unpaused: airflow dags trigger {self.dag}"
        correction = f"{self.command('correct')}{dag}"
        if self.late:
            yield f"{counted(self.late, 'late tuple')} to correct: {correction}"
        try:
            repeated = count_repeated(
                query_named(self.layout.home.name, str(self.layout.home.parent)).declared, self.layout
            )
        except (Refused, OSError):  # unknown without the declaration or the source
            return
        if repeated is None:
            yield "too many answers or records would have to be read: whether answers count repeats was not looked at"
        elif repeated:
            yield f"{counted(repeated, 'answer')} with repeats of ids to correct: {correction}"
