"""The checks of doctor: each finding with its remedy, within its time, and no secret."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from tailrace.advice import machine_checks, package_checks
from tailrace.advice.checks import Check, CheckStatus, fault, ok, run_checks
from tailrace.ground.errors import refuse

GIB = 1 << 30


def test_findings_stand_in_the_order_of_the_checks():
    checks = [Check(str(number), lambda number=number: [ok(str(number), "fine")]) for number in range(20)]
    assert [finding.check for finding in run_checks(checks, 60)] == [str(number) for number in range(20)]


def test_a_check_that_does_not_end_is_a_fault_and_holds_no_other():
    never = threading.Event()
    findings = run_checks(
        [Check("slow", lambda: never.wait() and []), Check("quick", lambda: [ok("quick", "fine")])], 0.2
    )
    assert [(finding.check, finding.status) for finding in findings] == [("slow", "fault"), ("quick", "ok")]
    assert "not done within 0.2 s" in findings[0].finding
    never.set()


def test_an_unknown_error_shows_its_type_alone():
    def fail():
        raise ValueError("postgres://me:secret@host")

    def name_the_fault():
        raise refuse("connection lake", "there is no variable", "the variable")

    unknown, known = run_checks([Check("a", fail), Check("b", name_the_fault)], 60)
    assert "secret" not in unknown.line()
    assert "ValueError" in unknown.line()
    assert known == fault("b", "connection lake: there is no variable", "the variable")


@pytest.mark.needs("process")
@pytest.mark.parametrize(
    ("version", "status"),
    [('openjdk version "17.0.15"', "ok"), ('openjdk version "21" 2023', "ok"), ('java version "1.8.0_292"', "warning")],
)
def test_java_is_one_that_spark_runs_on(tmp_path, monkeypatch, version, status):
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert machine_checks.check_java().status == status
    java.unlink()
    missing = machine_checks.check_java()
    assert (missing.status, "--engine local" in missing.remedy) == (CheckStatus.warning, True)


@pytest.mark.parametrize(("free", "status"), [(GIB // 10, "fault"), (GIB, "warning"), (9 * GIB, "ok")])
def test_memory_and_disk_have_two_bounds(monkeypatch, tmp_path, free, status):
    assert machine_checks.check_memory(free).status == ("fault" if free < GIB // 4 else status)
    monkeypatch.setattr(machine_checks.psutil, "disk_usage", lambda place: type("Usage", (), {"free": free}))
    found = machine_checks.check_disk(tmp_path / "not" / "yet")
    assert (found.status, str(tmp_path) in found.finding) == (status, True)


def test_a_port_that_somebody_listens_at_is_a_warning():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert machine_checks.check_port(port, "pages").status == "warning"
    assert machine_checks.check_port(port, "pages").status == "ok"


def test_a_warehouse_can_be_made_and_written(tmp_path):
    assert "can be made" in machine_checks.check_warehouse(str(tmp_path / "new" / "wh")).finding
    assert machine_checks.check_warehouse(str(tmp_path)).status == "ok"
    assert [*tmp_path.iterdir()] == []
    (tmp_path / "file").write_text("")
    assert machine_checks.check_warehouse(str(tmp_path / "file")).status == "fault"


def test_a_clock_before_the_installation_and_a_disk_with_another_are_found(monkeypatch, tmp_path):
    assert machine_checks.check_clock(tmp_path).status == "ok"
    now_s = Path(machine_checks.__file__).stat().st_mtime
    monkeypatch.setattr(machine_checks.time, "time", lambda: now_s + 3600.0)
    assert machine_checks.check_clock(tmp_path).status == "warning"
    monkeypatch.setattr(machine_checks.time, "time", lambda: 0.0)
    assert machine_checks.check_clock(tmp_path).status == "fault"


def test_a_locale_that_is_not_utf_8_is_a_warning():
    assert machine_checks.check_locale("utf-8").status == "ok"
    assert machine_checks.check_locale("ascii").status == "warning"


def test_packages_are_compared_with_what_is_wanted():
    wanted = ["numpy>=1", "numpy>=999", "no-such-package>=1", "no-such-extra; extra == 'x'", "pytest<1; extra == 'y'"]
    wanted += ["no-such-windows; sys_platform == 'win32'"]
    found = [(finding.status.value, finding.finding) for finding in package_checks.check_packages(wanted)]
    assert [status for status, _ in found] == ["fault", "fault", "warning", "ok"]
    assert "tailrace wants >=999" in found[0][1]
    assert found[1][1] == "no-such-package is not installed"
    assert found[3][1].startswith("3 were compared")


def test_a_missing_airflow_is_a_warning(monkeypatch):
    monkeypatch.setattr(package_checks, "AIRFLOW", "no-such-package")
    assert package_checks.check_airflow().status == "warning"
