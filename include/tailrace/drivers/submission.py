"""Completes a spark-submit command in deploy mode `cluster`: finds its platform, and adds settings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from tailrace.drivers.cluster_platform import ClusterPlatform
from tailrace.drivers.kubernetes import Kubernetes
from tailrace.drivers.platform_http import Credentials
from tailrace.drivers.yarn import Yarn
from tailrace.ground import passed_variables
from tailrace.ground.errors import refuse
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.spark.package_archive import NAME, package_archive

_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")  # if the driver host is itself a pod
_SUBMISSION = "spark.kubernetes.authenticate.submission."
_FILES = {
    "ca_file": f"{_SUBMISSION}caCertFile",
    "token_file": f"{_SUBMISSION}oauthTokenFile",
    "certificate_file": f"{_SUBMISSION}clientCertFile",
    "key_file": f"{_SUBMISSION}clientKeyFile",
}
_FILES_OF_YARN = "spark.yarn.dist.files"  # replaced by the option --files
_MASTER_ENVIRONMENT = f"spark.yarn.appMasterEnv.{passed_variables.VARIABLE}"


def platform_named(command: Sequence[str], url: str, tag: str) -> ClusterPlatform:
    """Return the platform of a spark-submit command's master, with Spark's own credentials for it.

    Raises
    ------
    Refused
        When the master is neither YARN's nor Kubernetes's.
    """
    master, conf = _after(command, "--master"), _conf(command)
    if master == "yarn":
        addresses = [part if "://" in part else f"http://{part}" for part in url.split(",") if part]
        return Yarn(tag, tuple(address.rstrip("/") for address in addresses))
    if master.startswith("k8s://"):
        api = master.removeprefix("k8s://").rstrip("/")
        files = {field: conf[name] for field, name in _FILES.items() if name in conf}
        if not files and (_SERVICE_ACCOUNT / "token").exists():
            files = {"ca_file": str(_SERVICE_ACCOUNT / "ca.crt"), "token_file": str(_SERVICE_ACCOUNT / "token")}
        namespace = conf.get("spark.kubernetes.namespace", "default")
        return Kubernetes(tag, api if "://" in api else f"https://{api}", namespace, Credentials(**files))
    raise refuse(f"master {master!r}", "no driver can be started there in cluster mode", "yarn, or k8s://https://…")


def submitted_files(home: Path) -> Path:
    """Return the directory of the files that start a home's driver on another machine: the app and the package."""
    return home / "_stream" / "submitted"


def bring(home: Path, app: Path) -> None:
    """Copy the app and this host's package into the warehouse, which the driver's machine can read."""
    directory = submitted_files(home)
    directory.mkdir(parents=True, exist_ok=True)
    write_atomically(directory / app.name, app.read_bytes())
    with package_archive() as archive:
        write_atomically(directory / NAME, archive.read_bytes())


@contextmanager
def submission(command: Sequence[str], settings: Mapping[str, str], passed: Sequence[str]) -> Iterator[list[str]]:
    """Yield the command with more settings, and with variables of this process for a driver on YARN.

    The variables may be secrets, so they are in no command line or setting, but in an in-memory file for this user
    alone, which ends with this process. Spark copies it to the application's directory, as it does with keytabs.
    """
    program, *rest = command
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    values = {name: os.environ[name] for name in passed if name in os.environ}
    if not values:
        yield [program, *words, *rest]
        return
    with open(os.memfd_create("passed"), "w") as file:
        json.dump(values, file)
        file.flush()
        ours = f"file:///proc/{os.getpid()}/fd/{file.fileno()}#{passed_variables.NAME}"
        theirs = _conf(command).get(_FILES_OF_YARN)
        words += ["--files", f"{theirs},{ours}" if theirs else ours]
        yield [program, *words, "--conf", f"{_MASTER_ENVIRONMENT}={passed_variables.NAME}", *rest]


def _after(command: Sequence[str], option: str) -> str:
    return next((value for word, value in pairwise(command) if word == option), "")


def _conf(command: Sequence[str]) -> dict[str, str]:
    pairs = [value for word, value in pairwise(command) if word == "--conf"]
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
