"""The launcher: it counts restarts, backs off, fences and becomes the driver, unless one of the steps fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from kit.suite.waiting import PATIENCE_S
from tailrace.drivers import fence, launch
from tailrace.drivers.launch import pause, starts_file
from tailrace.storage.deployment import DEPLOYMENT, deployment_file

pytestmark = pytest.mark.needs("process")

RECORD_CALL = (
    "import json, os, sys\n"
    "print(json.dumps([os.getpid(), sys.argv[2:], dict(os.environ)]), file=open(sys.argv[1], 'a'))\n"
)
SLEEP = "import time; print('up', flush=True); time.sleep(600)"


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "warehouse" / "flights"


@contextmanager
def launcher(home: Path, *command: str, budget: tuple[str, ...] = (), **options):
    """Run the launcher as supervisord does; kill it at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tailrace.drivers.launch", "--home", str(home), *budget, "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def run(home: Path, *command: str, budget: tuple[str, ...] = (), **options) -> tuple[int, str, int]:
    """Run the launcher to its end; return its exit code, its stderr and its pid."""
    with launcher(home, *command, budget=budget, **options) as process:
        _, message = process.communicate(timeout=PATIENCE_S)
        return process.returncode, message, process.pid


def calls(path: Path) -> list[tuple[int, list[str], dict[str, str]]]:
    return [tuple(json.loads(line)) for line in path.read_text().splitlines()]


def write_restarts(home: Path, *ages_s: float) -> None:
    starts_file(home).parent.mkdir(parents=True, exist_ok=True)
    starts_file(home).write_text(json.dumps({"restarts": [time.time() - age_s for age_s in ages_s]}))


def test_the_drivers_locale_takes_names_of_files_for_utf_8(home, tmp_path):
    command = sys.executable, "-c", RECORD_CALL, str(tmp_path / "notes")
    plain = {name: value for name, value in os.environ.items() if name not in ("LC_ALL", "LC_CTYPE", "LANG")}
    for locale in ({"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "de_DE.UTF-8"}):
        run(home, *command, env=plain | locale)
    assert [environment["LC_ALL"] for *_, environment in calls(tmp_path / "notes")] == ["C.UTF-8"] * 2 + ["de_DE.UTF-8"]


def test_the_launcher_becomes_the_command_under_the_same_pid(home, tmp_path):
    command_arguments = ["--home", "a b", "--", "'", "-x"]
    code, message, pid = run(
        home, sys.executable, "-c", f"{RECORD_CALL}sys.exit(7)", str(tmp_path / "notes"), *command_arguments
    )
    assert (code, message) == (7, "")
    [(driver, arguments, environment)] = calls(tmp_path / "notes")
    assert (driver, arguments) == (pid, command_arguments)
    marked_home, _, token = environment[fence.MARK].rpartition("#")
    assert marked_home == os.path.realpath(home)
    assert len(token) == 32
    assert json.loads(starts_file(home).read_text()) == {"restarts": [], "given_up": False}


def test_each_start_has_its_own_mark_with_the_homes_real_path(home, tmp_path):
    home.mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    inherited = os.environ | {fence.MARK: "/another#token"}
    for _ in range(2):
        starts_file(home).unlink(missing_ok=True)
        run(tmp_path / "link", sys.executable, "-c", RECORD_CALL, str(tmp_path / "notes"), env=inherited)
    marks = {environment[fence.MARK] for _, _, environment in calls(tmp_path / "notes")}
    assert len(marks) == 2
    assert {value.rpartition("#")[0] for value in marks} == {os.path.realpath(home)}


def test_the_interpreters_directory_is_first_in_the_path(home, tmp_path):
    tool = tmp_path / "bin" / "python"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexit 9\n")
    tool.chmod(0o755)
    path = f"{tool.parent}:{os.environ['PATH']}"
    code, _, _ = run(home, "python", "-c", RECORD_CALL, str(tmp_path / "notes"), env=os.environ | {"PATH": path})
    assert code == 0
    assert calls(tmp_path / "notes")[0][2]["PATH"] == f"{Path(sys.executable).parent}:{path}"


def test_the_driver_starts_with_default_signal_handling(home):
    with launcher(home, "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status") as process:
        masks = {line.split()[0]: int(line.split()[1], 16) for line in process.stdout}
    assert masks["SigBlk:"] == 0
    assert not masks["SigIgn:"] & 1 << signal.SIGPIPE - 1


def test_a_restart_waits_longer_each_time(home):
    assert pause(home, 5, 600, 1000.0) == 0
    assert [pause(home, 5, 600, 1000.0 + i) for i in range(1, 6)] == [1, 2, 4, 8, 16]
    assert pause(home, 5, 600, 1006.0) is None


def test_a_restart_older_than_the_period_does_not_count(home):
    assert [pause(home, 2, 600, 1000.0 + i) for i in range(3)] == [0, 1, 2]
    assert pause(home, 2, 600, 1601.0) == 2, "the first restart is 600 s old"


def test_a_restart_stays_on_record_for_a_day_and_counts_for_a_crash_loop_in_its_period_alone(home):
    starts_s = [1000.0, 2000.0, 3000.0, 80_000.0, 88_500.0]
    assert [pause(home, 1, 600, now_s) for now_s in starts_s] == [0, 1, 1, 1, 1]
    record = json.loads(starts_file(home).read_text())
    assert record == {"restarts": [3000.0, 80_000.0, 88_500.0], "given_up": False}


def test_after_a_crash_loop_a_driver_stays_down_until_it_is_deployed_anew(home):
    """Also when the driver host, or its machine, is started again much later."""
    assert [pause(home, 1, 600, 1000.0 + i) for i in range(3)] == [0, 1, None]
    assert pause(home, 1, 600, 1_000_000.0) is None
    starts_file(home).unlink()
    assert pause(home, 1, 600, 1_000_001.0) == 0


@pytest.mark.parametrize("restarts", [(), (5,)])
def test_a_drained_driver_is_not_started(home, tmp_path, restarts):
    """A restart of the host may start it: its program remains where the draining process died."""
    write_restarts(home, *restarts)
    (home / "_stream" / "drain").touch()
    count_before = starts_file(home).read_text()
    code, message, _ = run(home, sys.executable, "-c", RECORD_CALL, str(tmp_path / "notes"))
    assert (code, message) == (0, "launch: flights is drained, it stays down until it is deployed again\n")
    assert not (tmp_path / "notes").exists()
    assert starts_file(home).read_text() == count_before, "it does not count as a start"


def test_a_driver_waits_for_a_warehouse_without_its_deployment(home, tmp_path):
    """An empty mount point would be begun anew."""
    home.parent.mkdir()
    command = [sys.executable, "-c", RECORD_CALL, str(tmp_path / "notes")]
    with launcher(home, *command, env=os.environ | {DEPLOYMENT: "abc"}) as process:
        assert "waiting for the warehouse: no deployment of flights is on record" in process.stderr.readline()
        assert not (tmp_path / "notes").exists()
        assert not home.exists(), "nothing is written there"
        deployment_file(home).parent.mkdir(parents=True)
        deployment_file(home).write_text("abc")
        assert process.wait(PATIENCE_S) == 0
    assert len(calls(tmp_path / "notes")) == 1


def test_a_driver_drained_during_the_wait_for_its_restart_is_not_started(home, tmp_path):
    write_restarts(home, 1)
    with launcher(home, sys.executable, "-c", RECORD_CALL, str(tmp_path / "notes")) as process:
        assert process.stderr.readline() == "launch: a restart: waiting 2 s\n"
        (home / "_stream" / "drain").touch()
        assert process.wait(PATIENCE_S) == 0
    assert not (tmp_path / "notes").exists()


def test_no_wait_is_longer_than_a_minute(home):
    pause(home, 50, 600, 0.0)
    assert max(pause(home, 50, 600, float(i)) for i in range(1, 20)) == 60


def test_without_its_file_the_count_of_restarts_begins_anew(home):
    assert [pause(home, 1, 600, 1.0 + i) for i in range(3)] == [0, 1, None]
    starts_file(home).unlink()
    assert pause(home, 1, 600, 5.0) == 0


def test_restarts_outside_the_period_or_in_the_future_do_not_count(home):
    write_restarts(home, 700, 601, -50)  # the last one is in the future, as after the clock was set back
    assert pause(home, 1, 600, time.time()) == 1


@pytest.mark.parametrize("text", [b"", b"\xff\x00", b"[1, 2]", b'{"restarts": 3}', b'{"restarts": ["x"]}', b"{}"])
def test_a_damaged_count_of_restarts_is_replaced(home, capsys, text):
    starts_file(home).parent.mkdir(parents=True)
    starts_file(home).write_bytes(text)
    assert pause(home, 1, 600, 1.0) == 1
    assert "is damaged" in capsys.readouterr().err
    assert pause(home, 1, 600, 2.0) is None


def test_the_count_of_restarts_is_written_atomically(home, monkeypatch):
    pause(home, 5, 600, 1.0)
    count_before = starts_file(home).read_text()
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        pause(home, 5, 600, 2.0)
    assert starts_file(home).read_text() == count_before


def test_a_start_that_cannot_be_counted_waits_a_minute(home, capsys):
    home.mkdir(parents=True)
    (home / "_stream").write_text("in the way")
    assert pause(home, 5, 600, 1.0) == 60
    assert "can't count this start" in capsys.readouterr().err


def test_a_restart_says_how_long_it_waits_and_then_starts(home, tmp_path):
    write_restarts(home)
    start_s = time.monotonic()
    code, message, _ = run(home, sys.executable, "-c", RECORD_CALL, str(tmp_path / "notes"))
    assert (code, message) == (0, "launch: a restart: waiting 1 s\n")
    assert time.monotonic() - start_s >= 1
    assert len(calls(tmp_path / "notes")) == 1


def test_a_crash_loop_starts_nothing(home, tmp_path):
    write_restarts(home, 30, 20, 10)
    budget = ("--restarts", "3", "--within", "60")
    code, message, _ = run(home, sys.executable, "-c", RECORD_CALL, str(tmp_path / "notes"), budget=budget)
    assert code == 3
    assert message.startswith("launch: crash loop: flights was restarted 3 times within 60 s")
    assert "right would be" in message
    assert not (tmp_path / "notes").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_wait_at_once(home, tmp_path, number):
    write_restarts(home, 6, 5, 4, 3, 2, 1)
    with launcher(
        home, sys.executable, "-c", RECORD_CALL, str(tmp_path / "notes"), budget=("--restarts", "9")
    ) as process:
        assert process.stderr.readline() == "launch: a restart: waiting 60 s\n"
        process.send_signal(number)
        assert process.wait(50) == 130  # before the wait is over by itself
    assert not (tmp_path / "notes").exists()


def test_an_earlier_start_is_killed_before_the_next_one(home, tmp_path):
    with launcher(home, sys.executable, "-c", SLEEP) as old:
        assert old.stdout.readline() == "up\n"
        old.send_signal(signal.SIGSTOP)
        starts_file(home).unlink()
        script = f"{RECORD_CALL}print(open('/proc/{old.pid}/stat').read().split()[2])"  # Z: a zombie, not reaped yet
        with launcher(home, sys.executable, "-c", script, str(tmp_path / "notes")) as new:
            state, message = new.communicate(timeout=PATIENCE_S)
        assert state == "Z\n"
        assert message == f"launch: killed what an earlier start has left: {old.pid}\n"
        assert old.wait() == -signal.SIGKILL
    assert len(calls(tmp_path / "notes")) == 1


def test_no_driver_is_started_while_an_earlier_start_survives(home, monkeypatch, capsys):
    def survive(*_):
        raise TimeoutError("processes [4711] live on")

    monkeypatch.setattr(fence, "fence", survive)
    monkeypatch.setattr(os, "execvpe", lambda *_: pytest.fail("it was started"))
    with saved_signal_handlers():
        assert launch.main(["--home", str(home), "--", "true"]) == 1
    assert "flights can't be ended: processes [4711]" in capsys.readouterr().err


@contextmanager
def saved_signal_handlers():
    """Restore the signal handlers, which the launcher replaces, here in the process of the tests."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("command", ["no-such-program", "/no/such", "{tmp}/plain"])
def test_a_command_that_cannot_be_run_is_refused(home, tmp_path, command):
    (tmp_path / "plain").write_text("not to be run")
    code, message, _ = run(home, command.format(tmp=tmp_path))
    assert code == 2
    assert message.startswith(f"launch: {command.format(tmp=tmp_path)}: can't be run: ")
    assert str(Path(sys.executable).parent) in message


@pytest.mark.parametrize("arguments", [[], ["--home", "x"], ["--", "true"], ["--home", "x", "--restarts", "?", "true"]])
def test_a_wrong_call_is_refused(arguments):
    result = subprocess.run(
        [sys.executable, "-m", "tailrace.drivers.launch", *arguments], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "usage: python -m tailrace.drivers.launch" in result.stderr


def test_the_launcher_imports_nothing_heavy():
    script = "import tailrace.drivers.launch, sys; print(sorted({n.partition('.')[0] for n in sys.modules}))"
    modules = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert not {"pyarrow", "numpy", "pandas", "pyspark", "airflow", "pydantic"} & set(eval(modules))


def test_the_daemon_of_a_killed_driver_is_killed_by_the_next_start(home, tmp_path):
    """As with PySpark: a daemon in a process group of its own outlives the driver."""
    script = (
        "import os, time\nif not os.fork():\n    os.setpgid(0, 0)\n    print(os.getpid(), flush=True)\ntime.sleep(600)"
    )
    with launcher(home, sys.executable, "-c", script) as old:
        daemon = int(old.stdout.readline())
        old.kill()
        old.wait()
        assert psutil.pid_exists(daemon)
        starts_file(home).unlink()
        assert run(home, "true")[:2] == (0, f"launch: killed what an earlier start has left: {daemon}\n")
    with suppress(psutil.NoSuchProcess):
        assert psutil.Process(daemon).status() == psutil.STATUS_ZOMBIE
