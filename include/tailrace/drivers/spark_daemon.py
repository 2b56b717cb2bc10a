"""Becomes the master or a worker of a standalone Spark cluster, from the installed PySpark.

    python -m tailrace.drivers.spark_daemon master --host HOST
    python -m tailrace.drivers.spark_daemon worker --host HOST --master spark://HOST:7077 --cores 2 --memory 4g
    python -m tailrace.drivers.spark_daemon check --ui-port 8080

Connections need the cluster's secret, from `TAILRACE_SPARK_SECRET`, and are encrypted. The web pages, which have no
password, are served on loopback. A master records its workers and applications in a directory, so that a restarted
master finds them; otherwise executors would be killed, and drivers would hang. `check` requests a daemon's page:
exit code 0 if it answers and, for a master, has a worker.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from tailrace.ground.errors import Refused
from tailrace.ground.locales import utf_8_locale
from tailrace.spark import cluster_master, local_master
from tailrace.spark.class_archive import CONF, ClassArchive

REFUSED = 2
_LOOPBACK = "127.0.0.1"
_ANSWER_S = 5.0
_DEPLOY = "org.apache.spark.deploy"
_WORKER = {"spark.worker.cleanup.enabled": "true"}  # removes the directories of ended applications after a week


def main(arguments: Sequence[str] | None = None) -> int:
    """Replace this process by the daemon; if that is not possible, print the reason and return the exit code."""
    options = _parser().parse_args(arguments)
    if options.role == "check":
        return 0 if is_up(page(options.ui_port)) else 1
    try:
        variables = environment(_notes(options) if options.role == "master" else {})
    except Refused as refused:
        print(refused, file=sys.stderr)
        return REFUSED
    command = daemon_command(options)
    os.execve(command[0], command, os.environ | variables)


def page(ui_port: int) -> dict[str, Any]:
    """Read the web page of a daemon on this machine in its JSON form; empty without an answer."""
    try:
        answer = httpx.get(f"http://{_LOOPBACK}:{ui_port}/json/", timeout=_ANSWER_S, trust_env=False).json()
    except (httpx.HTTPError, ValueError):
        return {}
    return answer if isinstance(answer, dict) else {}


def is_up(page: dict[str, Any]) -> bool:
    """Return whether the page belongs to a worker, or to a master with a worker."""
    return bool(page) and page.get("aliveworkers", 1) > 0


def daemon_command(options: argparse.Namespace) -> list[str]:
    """Return the command of a master or worker: PySpark's spark-class, with all settings that are not secret."""
    start = [str(Path(local_master.spark_home(), "bin", "spark-class"))]
    address = ["--host", options.host, "--port", str(options.port), "--webui-port", str(options.ui_port)]
    if options.role == "master":
        return [*start, f"{_DEPLOY}.master.Master", *address]
    resources = ["--cores", str(options.cores), "--memory", options.memory, "--work-dir", str(options.work_dir)]
    return [*start, f"{_DEPLOY}.worker.Worker", *address, *resources, options.master]


def _notes(options: argparse.Namespace) -> dict[str, str]:
    """Return the settings by which a master recovers its workers and applications; create the directory for them."""
    directory = Path(os.path.abspath(options.recovery_dir))
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {"spark.deploy.recoveryMode": "FILESYSTEM", "spark.deploy.recoveryDirectory": str(directory)}


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a daemon with further Spark settings; its executors inherit it.

    Raises
    ------
    Refused
        When the secret is missing.
    """
    settings = cluster_master.NETWORK | _WORKER | {"log4j2.configurationFile": str(CONF / "daemon-log4j2.properties")}
    settings |= more
    return {
        "_SPARK_AUTH_SECRET": cluster_master.secret(),
        "SPARK_HOME": local_master.spark_home(),
        "SPARK_CONF_DIR": ClassArchive().conf_directory(with_archive=False),
        "SPARK_LOCAL_IP": _LOOPBACK,  # address of the web page; everything else uses --host
        "SPARK_DAEMON_MEMORY": os.environ.get("SPARK_DAEMON_MEMORY", "512m"),
        "SPARK_DAEMON_JAVA_OPTS": " ".join(shlex.quote(f"-D{name}={value}") for name, value in settings.items()),
        "SPARK_NO_DAEMONIZE": "1",
        **utf_8_locale(os.environ),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tailrace.drivers.spark_daemon", description="A cluster's daemon.")
    roles = parser.add_subparsers(dest="role", required=True)
    master, worker, check = (roles.add_parser(role) for role in ("master", "worker", "check"))
    for daemon, port, ui_port in ((master, 7077, 8080), (worker, 7078, 8081)):
        daemon.add_argument("--host", required=True, help="its name or address, by which the others reach it")
        daemon.add_argument("--port", type=int, default=port)
        daemon.add_argument("--ui-port", type=int, default=ui_port, help="port of its web page, on loopback")
    master.add_argument(
        "--recovery-dir", type=Path, default=Path("recovery"), help="directory of its notes on workers and applications"
    )
    worker.add_argument("--master", required=True, help="spark://HOST:PORT")
    worker.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    worker.add_argument("--memory", default="4g", help="what its executors may take together")
    worker.add_argument("--work-dir", type=Path, default=Path("work"), help="directory of its applications")
    check.add_argument("--ui-port", type=int, required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main())
