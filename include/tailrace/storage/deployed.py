"""The query of a deployment: a copy of the query file's text, which every start of the driver runs.

So an edit of the file takes effect by a deployment alone, not by an accidental restart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.ground.errors import Damaged, Problem, Refused
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.query.differences import Difference, differences
from tailrace.query.loading import parse
from tailrace.query.query import Query
from tailrace.storage.layout import Layout


@dataclass(frozen=True)
class DeployedQuery:
    """A query file at its deployment, and the options of the driver.

    Attributes
    ----------
    file : Path
        The query file; relative paths in the text start at its directory.
    options : mapping
        The driver's options by name, as JSON values.
    """

    file: Path
    text: str
    options: Mapping[str, Any]

    def query(self) -> Query:
        """Return the query that the text declares; it is refused like its file would be."""
        return parse(self.file, self.text)

    def edits(self, now: Query) -> list[Difference]:
        """Return the settings of a query that differ from the deployed ones."""
        try:
            return differences(self.query(), now)
        except Refused:  # it was written for another version
            return [Difference("the deployed copy", "refused by this version", "the file")]

    def write(self, layout: Layout) -> None:
        """Record the copy, replacing the one of the previous deployment."""
        values = {"file": str(self.file), "text": self.text, "options": dict(self.options)}
        write_atomically(layout.deployed, json.dumps(values, indent=1))

    @staticmethod
    def read(layout: Layout) -> DeployedQuery | None:
        """Read the recorded copy; None where there is none.

        Raises
        ------
        Damaged
            When it can't be read.
        """
        try:
            values = json.loads(layout.deployed.read_text())
            return DeployedQuery(Path(values["file"]), str(values["text"]), dict(values["options"]))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError) as error:
            remedy = f"tailrace stop {layout.home.name}, then tailrace deploy {layout.home.name}: it writes another one"
            raise Damaged([Problem(str(layout.deployed), f"it is damaged ({error})", remedy)]) from None
