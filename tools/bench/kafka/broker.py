"""Runs a Kafka broker in KRaft mode on loopback, from Maven's artifacts."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException, admin

from bench.cached_jars import CachedJars
from bench.maven import Artifact, java, run
from tailrace.drivers import fence
from tailrace.drivers.ports import free_port

_VERSION, _START_S, _DEATH_S = "4.2.0", 300.0, 30.0
JARS = CachedJars(f"kafka-{_VERSION}", (Artifact("org.apache.kafka", "kafka_2.13", _VERSION),))
_MARK = "TAILRACE_BROKER"  # in the environment of a broker; holds its directory
_PROPERTIES = """
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://{servers},CONTROLLER://{controller}{listeners}
advertised.listeners=PLAINTEXT://{servers}{listeners}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers={controller}
log.dirs={directory}/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
"""


class LocalBroker:
    """A broker with its data in a directory; it can be stopped and started again.

    Attributes
    ----------
    servers : str
        Its address, without TLS.
    process : Popen
        It leads a process group.
    """

    def __init__(self, directory: Path, listeners: str = "", properties: str = "") -> None:
        """Create the broker with more listeners, each after a comma, and more properties."""
        self.directory, self._jars = directory, f"{JARS.bring()}/*"
        self.servers, controller = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self._properties = directory / "server.properties"
        values = {"servers": self.servers, "controller": controller, "directory": directory, "listeners": listeners}
        self._properties.write_text(_PROPERTIES.format(**values) + properties)
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # In one argument, as a separate id that begins with "-" would be read as an option.
        format_ = ["kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(self._properties)]
        run(java(), "-cp", self._jars, *format_, "--standalone")
        self.start()

    def start(self) -> None:
        """Start the broker, and wait until it answers."""
        command = [java(), "-Xmx400m", "-cp", self._jars, "kafka.Kafka", str(self._properties)]
        log_file = self.directory / "broker.log"
        with log_file.open("a") as log:
            environment = os.environ | {_MARK: str(self.directory)}
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        self.admin = admin.AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        deadline_s = time.monotonic() + _START_S
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline_s:
                raise RuntimeError(f"the broker does not answer: {log_file.read_text()[-2000:]}")

    def stop(self) -> None:
        """Kill its process group."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _answers(self) -> bool:
        try:
            self.admin.list_topics(timeout=1)
        except KafkaException:
            return False
        return True


def kill_broker(directory: Path) -> None:
    """Kill the broker of a directory that was left running where the process that had started it was killed."""
    fence.kill(lambda: fence.carrying(_MARK, lambda value: value == str(directory)), _DEATH_S)


@contextmanager
def running_broker(directory: Path) -> Iterator[LocalBroker]:
    """Yield a broker, and end it with its process group."""
    broker = LocalBroker(directory)
    try:
        yield broker
    finally:
        broker.stop()
