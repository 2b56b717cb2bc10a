"""The next command about a query, with the options that it needs, for messages."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

NextCommand = Callable[[str], str]
"""Returns the text of a command about a query by its verb: rebuild, correct."""


@dataclass(frozen=True)
class CommandLine:
    """The file of a query, and the options of commands about it.

    Attributes
    ----------
    file : Path or None
        The query's file; None if it is unknown.
    streams : Path or None
        For SQL text, the file with its streams.
    is_local : bool
        Whether the local engine runs the query.
    """

    file: Path | None
    warehouse: str
    streams: Path | None = None
    is_local: bool = False

    def __call__(self, verb: str) -> str:
        """Return the command, quoted for a shell.

        >>> CommandLine(Path("my query.yaml"), "out", is_local=True)("correct")
        "tailrace correct 'my query.yaml' --warehouse out --engine local"
        """
        words = ["tailrace", verb, "FILE" if self.file is None else str(self.file)]
        words += [] if self.streams is None else ["--streams", str(self.streams)]
        words += ["--warehouse", self.warehouse]
        return shlex.join([*words, "--engine", "local"] if self.is_local else words)
