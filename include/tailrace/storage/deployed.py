"""The query that a driver was deployed with: a copy of its file's text, which every start of the driver runs.

So an edit of the file comes into force by a deployment alone, and not by a restart that nobody asked for.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tailrace.ground.errors import Damaged, Problem
from tailrace.ground.files import write_atomically
from tailrace.query.loading import parse
from tailrace.query.query import Query
from tailrace.storage.holding import retry_while_away
from tailrace.storage.layout import Layout

_LOOK_AGAIN_S = 1.0


@dataclass(frozen=True)
class DeployedQuery:
    """A query file at its deployment, and the options of the driver.

    Attributes
    ----------
    file : Path
        The query file; relative paths in the text start at its directory.
    options : mapping
        The driver's options by their names, as JSON has them.
    """

    file: Path
    text: str
    options: Mapping[str, Any]

    def query(self) -> Query:
        """Return the query that the text declares; it is refused as its file would be."""
        return parse(self.file, self.text)

    def write(self, layout: Layout) -> None:
        """Put the copy on record; the deployment before has none any more."""
        values = {"file": str(self.file), "text": self.text, "options": dict(self.options)}
        write_atomically(layout.deployed, json.dumps(values, indent=1))

    @staticmethod
    def read(layout: Layout) -> DeployedQuery | None:
        """Read the copy on record; None where there is none.

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
            right = f"tailrace stop {layout.home.name}, then tailrace deploy {layout.home.name}: it writes another one"
            raise Damaged([Problem(str(layout.deployed), f"it is damaged ({error})", right)]) from None


def await_deployed(layout: Layout, pause: Callable[[float], Any] = time.sleep) -> DeployedQuery:
    """Return the copy on record for a driver that was deployed.

    While there is none, the warehouse is away, as a disk that is not mounted: the driver waits, and begins nothing.
    """
    is_waiting = False
    while (deployed := retry_while_away(partial(DeployedQuery.read, layout), lambda: True)) is None:
        if not is_waiting:
            absent = f"no deployment of {layout.home.name} is on record in {layout.home}"
            print(f"waiting for the warehouse: {absent}; to begin anew, deploy it again", file=sys.stderr, flush=True)
        is_waiting = True
        pause(_LOOK_AGAIN_S)
    return deployed
