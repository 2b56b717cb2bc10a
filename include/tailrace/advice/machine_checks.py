"""Checks of the machine: Java, memory, processors, disks, ports, the clock and the locale."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from tailrace.advice.checks import Check, Finding, fault, ok, warning
from tailrace.ground.files.atomic_files import is_url
from tailrace.ground.locales import NAME_REMEDY
from tailrace.storage.layout import Layout

_JAVA_VERSIONS = (17, 21)
_JAVA_REMEDY = "Java 17 or 21 (openjdk-17-jre-headless), and JAVA_HOME; or --engine local, which needs none"
_JAVA_LIMIT_S = 8.0
_GIB = 1 << 30
_MEMORY = _GIB // 4, 2 * _GIB
_DISK = _GIB // 8, 2 * _GIB
"""Free bytes below which the finding is a fault, and below which it is a warning."""

_PORTS = {8080: "Airflow's pages, as compose starts them", 9001: "a driver host"}
_SKEW_S = 2.0


def machine_checks(warehouse: str | None) -> Iterator[Check]:
    """Yield the checks of this machine, and of a warehouse, if one is named."""
    yield Check("java", lambda: [check_java()])
    yield Check("memory", lambda: [check_memory(int(psutil.virtual_memory().available))])
    yield Check("processors", lambda: [ok("processors", f"{len(os.sched_getaffinity(0))}")])
    yield Check("locale", lambda: [check_locale(sys.getfilesystemencoding())])
    for port, what in _PORTS.items():
        yield Check(f"port {port}", lambda port=port, what=what: [check_port(port, what)])  # type: ignore[misc]
    checked = "." if warehouse is None or is_url(warehouse) else warehouse
    yield Check("disk", lambda: [check_disk(Path(checked))])
    yield Check("clock", lambda: [check_clock(Path(checked))])
    if warehouse is not None:
        yield Check("warehouse", lambda: [check_warehouse(warehouse)])


def check_java() -> Finding:
    """Check that there is a Java version on which Spark runs; the local engine needs none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=None if home is None else str(Path(home) / "bin"))
    if java is None:
        where = "on PATH" if home is None else f"in JAVA_HOME ({home})"
        return warning("java", f"none is {where}, and Spark needs it", _JAVA_REMEDY)
    try:
        run = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_JAVA_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return warning("java", f"{java} does not run: {type(error).__name__}", _JAVA_REMEDY)
    match = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    if match is None or int(match[1]) not in _JAVA_VERSIONS:
        version = "of an unknown version" if match is None else match[1]
        return warning("java", f"{java} is {version}, and Spark runs on 17 or 21", _JAVA_REMEDY)
    return ok("java", f"{match[1]}, {java}")


def check_memory(available: int) -> Finding:
    """Check the bytes of memory that are available."""
    return _amount("memory", available, _MEMORY, "more memory, or fewer programs beside this one")


def check_disk(checked: Path) -> Finding:
    """Check the free bytes of the disk on which a directory is, or would be created."""
    directory = nearest_directory(checked)
    free = _amount("disk", psutil.disk_usage(str(directory)).free, _DISK, f"more space on the disk of {directory}")
    return Finding(free.check, free.status, f"{free.finding} at {directory}", free.remedy)


def check_locale(encoding: str) -> Finding:
    """Check that file names are read as UTF-8."""
    if encoding.lower().replace("-", "") == "utf8":
        return ok("locale", "file names are UTF-8")
    return warning("locale", f"file names are read as {encoding}", NAME_REMEDY)


def check_port(port: int, what: str) -> Finding:
    """Check that nobody listens at a port of loopback."""
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError as error:
            remedy = "nothing, if it is one of these that runs; else another port for it, or the other program's end"
            return warning(f"port {port}", f"not free for {what}: {error.strerror}", remedy)
    return ok(f"port {port}", f"free for {what}")


def check_clock(checked: Path) -> Finding:
    """Compare the clock with the time of this installation, and with the disk's time, which may be a server's."""
    directory, now_s = nearest_directory(checked), time.time()
    installed_s = Path(__file__).stat().st_mtime
    if now_s < installed_s - 86_400:
        return fault("clock", "it stands before the time at which tailrace was installed", "the clock set, as by NTP")
    if os.access(directory, os.W_OK):
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".tailrace-doctor-") as file:
            skew_s = os.fstat(file.fileno()).st_mtime - now_s
        if abs(skew_s) > _SKEW_S:
            finding = f"the disk of {directory} differs from it by {skew_s:.1f} s"
            return warning("clock", finding, "both clocks set by NTP")
    return ok("clock", f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(now_s))}, in the zone {time.tzname[0]}")


def check_warehouse(warehouse: str) -> Finding:
    """Check that a warehouse can be read and, on a disk, written."""
    if is_url(warehouse):
        Layout.for_query(warehouse, "doctor").manifest()
        return ok("warehouse", f"{warehouse} can be read")
    path, directory = Path(warehouse), nearest_directory(Path(warehouse))
    if path.exists() and not path.is_dir():
        return fault("warehouse", f"{path} is no directory", "the name of a directory")
    if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
        return fault("warehouse", f"{directory} can't be written", "a directory that you may write to")
    with tempfile.NamedTemporaryFile(dir=directory, prefix=".tailrace-doctor-") as file:
        file.write(b"tailrace")
        file.flush()
    return ok("warehouse", f"{path} can be written" if path.is_dir() else f"{path} can be made in {directory}")


def nearest_directory(path: Path) -> Path:
    """Return the directory itself, or its nearest existing parent."""
    absolute = path.absolute()
    return next(each for each in (absolute, *absolute.parents) if each.is_dir())


def _amount(check: str, free: int, bounds: tuple[int, int], remedy: str) -> Finding:
    least, some = bounds
    finding = f"{free / _GIB:,.1f} GiB are free"
    if free < least:
        return fault(check, finding, remedy)
    return warning(check, finding, remedy) if free < some else ok(check, finding)
