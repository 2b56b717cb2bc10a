"""Process of a peer, which lives from the first pass to the last and takes its jobs as lines of JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tailrace.bench.peer_environment import PeerEnvironment

_PATIENCE_S = 30.0


class PeerProcess:
    """A program under the peer's own Python, in a process of its own, as Spark's JVM is.

    Parameters
    ----------
    environment : PeerEnvironment
        Installed already.
    program : Path
        Reads jobs from standard input, a line of JSON each, and answers each with a line.
    log : Path
        File for its messages; the directory is made.
    """

    def __init__(self, environment: PeerEnvironment, program: Path, log: Path) -> None:
        self._environment, self._program, self._log = environment, program, log

    def __enter__(self) -> Self:
        self._log.parent.mkdir(parents=True)
        command = [str(self._environment.python), "-I", str(self._program)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                env=self._environment.variables(),
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

    def submit(self, job: dict[str, Any]) -> dict[str, float]:
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
            name, last_words = self._environment.peer.name, self._log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{name} ended; its last words:\n{last_words}")
        answer: dict[str, float] = json.loads(line)
        return answer

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None  # requested from Popen above
        return pipe
