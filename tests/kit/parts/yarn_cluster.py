"""A real YARN on loopback: a ResourceManager and a NodeManager, from Maven's artifacts by the Ivy that PySpark has."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

from bench.cached_jars import CachedJars
from bench.maven import Artifact, find_pyspark_jars, java
from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers.ports import free_port

_HADOOP = "3.5.0"  # as PySpark's client
JARS = CachedJars(
    f"yarn-{_HADOOP}",
    (
        Artifact("org.apache.hadoop", "hadoop-client-minicluster", _HADOOP),
        Artifact("org.slf4j", "slf4j-reload4j", "1.7.36"),  # its shaded jars leave this one out, and the next one
        Artifact("org.bouncycastle", "bcpkix-jdk18on", "1.82"),
    ),
)
_SERVER = "org.apache.hadoop.yarn.server"
_DAEMONS = ("resourcemanager.ResourceManager", "nodemanager.NodeManager")
LOOPBACK = "127.0.0.1"


class YarnCluster:
    """A cluster of one node, with everything in a directory."""

    def __init__(self, directory: Path, jars: str) -> None:
        self.directory, self._jars = directory, jars
        self.url = f"http://{LOOPBACK}:{free_port()}"
        self.configuration = directory / "conf"
        self.configuration.mkdir(parents=True)
        properties = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in self._settings().items()
        )
        for file in ("yarn-site.xml", "core-site.xml"):
            (self.configuration / file).write_text(f"<configuration>{properties}</configuration>")
        self.processes = [self._start(daemon) for daemon in _DAEMONS]
        until(lambda: self.ask("/nodes").get("nodes", {}).get("node"), "YARN has its node")

    def _settings(self) -> dict[str, str]:
        manager, node = "yarn.resourcemanager", "yarn.nodemanager"
        addresses = {f"{manager}.{part}address" for part in ("", "scheduler.", "resource-tracker.", "admin.")}
        addresses |= {f"{node}.{part}address" for part in ("", "localizer.", "webapp.")}
        return {name: f"{LOOPBACK}:{free_port()}" for name in addresses} | {
            f"{manager}.webapp.address": self.url.removeprefix("http://"),
            f"{manager}.hostname": LOOPBACK,
            f"{manager}.scheduler.class": f"{_SERVER}.resourcemanager.scheduler.fifo.FifoScheduler",
            f"{manager}.nodemanagers.heartbeat-interval-ms": "200",
            f"{node}.hostname": LOOPBACK,
            f"{node}.resource.memory-mb": "16384",  # YARN only counts
            f"{node}.resource.cpu-vcores": "16",
            f"{node}.vmem-check-enabled": "false",
            f"{node}.pmem-check-enabled": "false",
            f"{node}.disk-health-checker.enable": "false",
            f"{node}.local-dirs": str(self.directory / "local"),
            f"{node}.log-dirs": str(self.logs),
            f"{node}.delete.debug-delay-sec": "3600",
            "yarn.scheduler.minimum-allocation-mb": "128",
            "hadoop.tmp.dir": str(self.directory / "tmp"),
            "fs.defaultFS": "file:///",
        }

    @property
    def logs(self) -> Path:
        """The directory of the containers' output."""
        return self.directory / "containers"

    def _start(self, daemon: str) -> subprocess.Popen[bytes]:
        variables = os.environ | {"HADOOP_CONF_DIR": str(self.configuration)}
        home = f"-Dhadoop.home.dir={self.directory}"
        class_path = f"{self.configuration}{os.pathsep}{self._jars}"
        command = [java(), "-Xmx400m", "-XX:TieredStopAtLevel=1", home, "-cp", class_path, f"{_SERVER}.{daemon}"]
        with (self.directory / f"{daemon}.log").open("wb") as log:
            return subprocess.Popen(command, env=variables, stdout=log, stderr=log, start_new_session=True)

    def ask(self, path: str) -> dict:
        """What the ResourceManager says; nothing where it does not answer."""
        try:
            with urlopen(f"{self.url}/ws/v1/cluster{path}", timeout=PATIENCE_S) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return {}

    def applications(self) -> list[dict]:
        """All applications, oldest first."""
        found = (self.ask("/apps").get("apps") or {}).get("app") or []
        return sorted(found, key=lambda application: application["id"])

    def stop(self) -> None:
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def conf() -> dict[str, str]:
    """Spark's settings for small drivers there, whose jars lie where this machine's are."""
    return {
        "spark.yarn.jars": f"local:{find_pyspark_jars('spark-yarn*.jar')[0].parent}/*",
        "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": LOOPBACK,
        "spark.executorEnv.SPARK_LOCAL_IP": LOOPBACK,
        "spark.executor.memory": "512m",
        "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }


@contextmanager
def running_yarn(directory: Path) -> Iterator[YarnCluster]:
    """A cluster that is ended with its containers' launchers."""
    cluster = YarnCluster(directory, f"{JARS.bring()}/*")
    try:
        yield cluster
    finally:
        cluster.stop()
