"""The services of docker-compose.yaml as tests run them: variables filled in, names and paths those of this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml

from kit.suite.waiting import PATIENCE_S
from tailrace.drivers import fence
from tailrace.drivers.ports import free_port

ROOT = Path(__file__).parents[3]
FILE = ROOT / "docker-compose.yaml"
_MARK = "TAILRACE_COMPOSE"
_VARIABLE = re.compile(r"\$\{([A-Z_]+):\?([^}]*)\}")
_PORTS = re.compile(r"(?<![0-9.])(5432|7077|7078|7079|8080|8090|8091|8092|9001|9092|9093)(?![0-9.])")


def services() -> dict[str, dict[str, Any]]:
    """The services as they are declared, anchors resolved and variables not yet filled in."""
    return yaml.safe_load(FILE.read_text())["services"]


def required_variables() -> dict[str, str]:
    """The variables without which compose refuses to start, and what it says then."""
    return dict(_VARIABLE.findall(FILE.read_text()))


@dataclass
class Here:
    """This machine in the place of the containers: directories below `home`, free ports of loopback, Kafka's jars."""

    home: Path
    secrets: dict[str, str]
    kafka_jars: Path
    started: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, init=False)
    _sessions: set[int] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self.ports = {port: str(free_port()) for port in sorted(set(_PORTS.findall(FILE.read_text())))}
        self.log = self.home / "logs"
        self.log.mkdir(parents=True)
        for name in ("airflow", "tailrace", "drivers/programs", "work", "kafka", "spark", "sources"):
            (self.home / "srv" / name).mkdir(parents=True, mode=0o700)

    def translate(self, text: str) -> str:
        """A value of the file as a process on this machine needs it."""
        text = _VARIABLE.sub(lambda match: self.secrets[match[1]], text)
        text = text.replace("/srv/", f"{self.home}/srv/").replace(
            "/opt/tailrace/include/queries", f"{self.home}/queries"
        )
        text = text.replace("/opt/tailrace", str(ROOT)).replace("/opt/kafka/libs", str(self.kafka_jars))
        text = text.replace("/var/lib/kafka/data", f"{self.home}/srv/kafka")
        text = _PORTS.sub(lambda match: self.ports[match[1]], text)
        names = "|".join(sorted(services(), key=len, reverse=True))
        text = re.sub(rf"(?<=//)(?:{names})(?=[:\"])|(?<=[@\"])(?:{names})(?=:)", "127.0.0.1", text)
        text = text.replace("0.0.0.0", "127.0.0.1").replace('"driver-host"', '"127.0.0.1"')
        return _VARIABLE.sub(lambda match: self.secrets[match[1]], text)  # last: nothing above may change a secret

    def command(self, words: list[str]) -> list[str]:
        """A command of the file; a service's own name is an address."""
        return ["127.0.0.1" if word in services() else self.translate(word) for word in words]

    def environment(self, service: str) -> dict[str, str]:
        """The environment of a service; of this machine's only what finds programs and modules."""
        declared = services()[service].get("environment", {})
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {name: os.environ[name] for name in ("HOME", "JAVA_HOME", "LANG") if name in os.environ}
        paths = {"PATH": programs, "PYTHONPATH": str(ROOT / "include")}
        return kept | paths | {name: self.translate(value) for name, value in declared.items()}

    def start(self, service: str) -> subprocess.Popen[bytes]:
        with open(self.log / service, "ab") as log:
            process = subprocess.Popen(
                self.command(services()[service]["command"]),
                env=self.environment(service) | {_MARK: str(self.home)},
                cwd=self.home / "srv" / "work",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                umask=0o077,
            )
        self._sessions.add(process.pid)
        self.started[service] = process
        return process

    def processes(self) -> list[psutil.Process]:
        """The living processes of all services, also those whose environment is gone since they changed their name."""
        marked = fence.carrying(_MARK, lambda value: value == str(self.home))
        return list({*marked, *filter(self._is_of_a_session, psutil.process_iter())})

    def _is_of_a_session(self, process: psutil.Process) -> bool:
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            return os.getsid(process.pid) in self._sessions and process.status() != psutil.STATUS_ZOMBIE
        return False

    def is_healthy(self, service: str) -> bool:
        """Run the health check of a service as its engine would."""
        kind, *words = services()[service]["healthcheck"]["test"]
        assert kind == "CMD"
        check = subprocess.run(
            self.command(words), env=self.environment(service), capture_output=True, timeout=PATIENCE_S, check=False
        )
        return check.returncode == 0
