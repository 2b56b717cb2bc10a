"""Process of a peer, which lives from the first pass to the last and reads its jobs as lines of JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

_PATIENCE_S = 30.0


class PeerProcess:
    """A program in a separate process, with its own JVM.

    Parameters
    ----------
    name : str
        The peer's name, for messages.
    command : list of str
        A program that reads jobs from standard input, a line of JSON each, and answers each with a line.
    variables : dict
        Its environment.
    log : Path
        File for its messages; the directory is made.
    """

    def __init__(self, name: str, command: list[str], variables: Mapping[str, str], log: Path) -> None:
        self._name, self._command, self._variables, self._log = name, command, variables, log

    def __enter__(self) -> Self:
        self._log.parent.mkdir(parents=True)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                env=dict(self._variables),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe(self._process.stdin).close()  # the end of its input ends the process and its JVM
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._pipe(self._process.stdout).close()

    @property
    def pid(self) -> int:
        """Process id of the process that has the JVM for a child."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode

    def submit(self, job: dict[str, Any]) -> Any:
        """Run a job and return its answer.

        Raises
        ------
        RuntimeError
            When the process ends; quotes the end of its log.
        """
        try:
            stdin = self._pipe(self._process.stdin)
            stdin.write(json.dumps(job) + "\n")
            stdin.flush()
            line = self._pipe(self._process.stdout).readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(f"{self._name} ended; its last words:\n{self._log.read_text(errors='replace')[-2000:]}")
        return json.loads(line)

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None  # requested from Popen above
        return pipe
