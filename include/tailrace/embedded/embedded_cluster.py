"""An embedded Spark cluster on free loopback ports, with a master and workers, for the demo and for tests."""

from __future__ import annotations

import os
import secrets
import subprocess
from contextlib import ExitStack
from pathlib import Path

from tailrace.drivers import fence
from tailrace.drivers.ports import free_port
from tailrace.drivers.spark_daemon import page
from tailrace.embedded.embedded_processes import EmbeddedProcesses
from tailrace.ground.polling import polls
from tailrace.spark.cluster_master import SECRET

_HOST = "127.0.0.1"
_START_S, _LOOK_AGAIN_S, _DEATH_S = 180.0, 0.3, 30.0
_OFFER = ("--cores", "16", "--memory", "16g")  # Spark only counts them: many small drivers share a laptop


class EmbeddedCluster(EmbeddedProcesses):
    """A standalone Spark cluster in a directory. Its executors carry its mark, too.

    Parameters
    ----------
    directory : Path
        The directory of the daemons' logs and their executors' files; for this user alone.
    workers : int
        Number of workers.
    """

    mark = "TAILRACE_CLUSTER"

    def __init__(self, directory: Path, workers: int = 2) -> None:
        super().__init__(directory)
        self.workers = workers
        self.secret = secrets.token_hex(32)
        self.port, self.ui_port = free_port(), free_port()

    @property
    def master(self) -> str:
        """The master's address, for TAILRACE_MASTER."""
        return f"spark://{_HOST}:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with the cluster's address and secret, for drivers."""
        return {"TAILRACE_MASTER": self.master, SECRET: self.secret}

    def start(self) -> None:
        """Start the master and the workers; return when all workers have registered.

        Raises
        ------
        RuntimeError
            When this takes too long, or one of them ends; the message quotes its log.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as on_failure:
            on_failure.callback(self.stop)  # also at Ctrl-C, as nobody else would end it
            self._await("master", self.start_master(), workers=0)
            workers = [self.start_worker(f"worker-{number}") for number in range(self.workers)]
            for number, worker in enumerate(workers):
                self._await(f"worker-{number}", worker, self.workers)
            on_failure.pop_all()

    def start_master(self) -> subprocess.Popen[bytes]:
        """Start the master, or replace one that died; return without waiting for it."""
        return self._start("master", "master", self.port, self.ui_port)

    def start_worker(self, name: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start one more worker, with further environment variables; return without waiting for it."""
        options = ("--master", self.master, *_OFFER, "--work-dir", str(self.directory / name))
        return self._start(name, "worker", free_port(), free_port(), *options, **variables)

    def stop(self) -> None:
        """Kill all its processes, including executors; its drivers must have ended before."""
        fence.kill(self.processes, _DEATH_S)

    def _start(
        self, name: str, role: str, port: int, ui_port: int, *options: str, **variables: str
    ) -> subprocess.Popen[bytes]:
        address = ("--host", _HOST, "--port", str(port), "--ui-port", str(ui_port))
        environment = {key: value for key, value in os.environ.items() if key != fence.MARK}
        return self.launch(
            ["-m", "tailrace.drivers.spark_daemon", role, *address, *options],
            environment | {SECRET: self.secret, **variables},
            self.directory / f"{name}.log",
        )

    def _await(self, name: str, process: subprocess.Popen[bytes], workers: int) -> None:
        for _ in polls(_START_S, _LOOK_AGAIN_S):
            if page(self.ui_port).get("aliveworkers", -1) >= workers:
                return
            if process.poll() is not None:
                break
        log = self.directory / f"{name}.log"
        raise RuntimeError(
            f"Spark's {name} did not start; the end of {log}:\n{log.read_text(errors='replace')[-2000:]}"
        )
