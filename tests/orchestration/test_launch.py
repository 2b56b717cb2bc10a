"""The launcher: it counts, waits, fences and becomes the driver; each alone can keep the driver from its start."""

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

from tailrace.drivers import fence, launch
from tailrace.drivers.launch import pause, starts_file

NOTE = (
    "import json, os, sys\n"
    "print(json.dumps([os.getpid(), sys.argv[2:], dict(os.environ)]), file=open(sys.argv[1], 'a'))\n"
)
SLEEP = "import time; print('up', flush=True); time.sleep(600)"


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "warehouse" / "flights"


@contextmanager
def launcher(home: Path, *command: str, budget: tuple[str, ...] = (), **options):
    """The launcher as supervisord starts it."""
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
    """Its exit code, what it said, its pid."""
    with launcher(home, *command, budget=budget, **options) as process:
        _, said = process.communicate(timeout=60)
        return process.returncode, said, process.pid


def notes(file: Path) -> list[tuple[int, list[str], dict[str, str]]]:
    return [tuple(json.loads(line)) for line in file.read_text().splitlines()]


def had_restarts(home: Path, *ages_s: float) -> None:
    starts_file(home).parent.mkdir(parents=True, exist_ok=True)
    starts_file(home).write_text(json.dumps({"restarts": [time.time() - age_s for age_s in ages_s]}))


def test_it_becomes_the_command(home, tmp_path):
    words = ["--home", "a b", "--", "'", "-x"]
    code, said, pid = run(home, sys.executable, "-c", f"{NOTE}sys.exit(7)", str(tmp_path / "notes"), *words)
    assert (code, said) == (7, "")
    [(driver, arguments, environment)] = notes(tmp_path / "notes")
    assert (driver, arguments) == (pid, words)
    place, _, token = environment[fence.MARK].rpartition("#")
    assert place == os.path.realpath(home)
    assert len(token) == 32
    assert json.loads(starts_file(home).read_text()) == {"restarts": [], "given_up": False}


def test_each_start_has_its_own_mark_of_the_real_path(home, tmp_path):
    home.mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    inherited = os.environ | {fence.MARK: "/another#token"}
    for _ in range(2):
        starts_file(home).unlink(missing_ok=True)
        run(tmp_path / "link", sys.executable, "-c", NOTE, str(tmp_path / "notes"), env=inherited)
    marks = {environment[fence.MARK] for _, _, environment in notes(tmp_path / "notes")}
    assert len(marks) == 2
    assert {value.rpartition("#")[0] for value in marks} == {os.path.realpath(home)}


def test_the_interpreters_own_directory_goes_first(home, tmp_path):
    tool = tmp_path / "bin" / "python"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexit 9\n")
    tool.chmod(0o755)
    path = f"{tool.parent}:{os.environ['PATH']}"
    code, _, _ = run(home, "python", "-c", NOTE, str(tmp_path / "notes"), env=os.environ | {"PATH": path})
    assert code == 0
    assert notes(tmp_path / "notes")[0][2]["PATH"] == f"{Path(sys.executable).parent}:{path}"


def test_the_driver_gets_signals_as_a_new_process_does(home):
    with launcher(home, "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status") as process:
        masks = {line.split()[0]: int(line.split()[1], 16) for line in process.stdout}
    assert masks["SigBlk:"] == 0
    assert not masks["SigIgn:"] & 1 << signal.SIGPIPE - 1


def test_a_restart_waits_longer_each_time(home):
    assert pause(home, 5, 600, 1000.0) == 0
    assert [pause(home, 5, 600, 1000.0 + i) for i in range(1, 6)] == [1, 2, 4, 8, 16]
    assert pause(home, 5, 600, 1006.0) is None


def test_a_restart_of_long_ago_does_not_count(home):
    assert [pause(home, 2, 600, 1000.0 + i) for i in range(3)] == [0, 1, 2]
    assert pause(home, 2, 600, 1601.0) == 2, "the first restart is 600 s old"


def test_what_has_given_up_stays_down_until_it_is_deployed_anew(home):
    """Also when its host, or the machine, is started again long after."""
    assert [pause(home, 1, 600, 1000.0 + i) for i in range(3)] == [0, 1, None]
    assert pause(home, 1, 600, 1_000_000.0) is None
    starts_file(home).unlink()
    assert pause(home, 1, 600, 1_000_001.0) == 0


@pytest.mark.parametrize("restarts", [(), (5,)])
def test_a_driver_that_was_drained_is_not_started(home, tmp_path, restarts):
    """As when its host is started again: its program may still be there, if the one who drained it died."""
    had_restarts(home, *restarts)
    (home / "_stream" / "drain").touch()
    before = starts_file(home).read_text()
    code, said, _ = run(home, sys.executable, "-c", NOTE, str(tmp_path / "notes"))
    assert (code, said) == (0, "launch: flights is drained, it stays down until it is deployed anew\n")
    assert not (tmp_path / "notes").exists()
    assert starts_file(home).read_text() == before, "it was no start"


def test_a_driver_that_is_drained_while_it_waits_for_its_restart_is_not_started(home, tmp_path):
    had_restarts(home, 1)
    with launcher(home, sys.executable, "-c", NOTE, str(tmp_path / "notes")) as process:
        assert process.stderr.readline() == "launch: a restart: waiting 2 s\n"
        (home / "_stream" / "drain").touch()
        assert process.wait(60) == 0
    assert not (tmp_path / "notes").exists()


def test_no_wait_is_longer_than_a_minute(home):
    pause(home, 50, 600, 0.0)
    assert max(pause(home, 50, 600, float(i)) for i in range(1, 20)) == 60


def test_without_its_file_the_count_begins_anew(home):
    assert [pause(home, 1, 600, 1.0 + i) for i in range(3)] == [0, 1, None]
    starts_file(home).unlink()
    assert pause(home, 1, 600, 5.0) == 0


def test_restarts_of_another_time_do_not_count(home):
    had_restarts(home, 700, 601, -50)  # the last one lies ahead: the clock was set back
    assert pause(home, 1, 600, time.time()) == 1


@pytest.mark.parametrize("text", [b"", b"\xff\x00", b"[1, 2]", b'{"restarts": 3}', b'{"restarts": ["x"]}', b"{}"])
def test_a_damaged_count_is_begun_anew(home, capsys, text):
    starts_file(home).parent.mkdir(parents=True)
    starts_file(home).write_bytes(text)
    assert pause(home, 1, 600, 1.0) == 1
    assert "is damaged" in capsys.readouterr().err
    assert pause(home, 1, 600, 2.0) is None


def test_a_count_that_dies_half_written_is_not_seen(home, monkeypatch):
    pause(home, 5, 600, 1.0)
    before = starts_file(home).read_text()
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        pause(home, 5, 600, 2.0)
    assert starts_file(home).read_text() == before


def test_what_cannot_be_counted_comes_slowly(home, capsys):
    home.mkdir(parents=True)
    (home / "_stream").write_text("in the way")
    assert pause(home, 5, 600, 1.0) == 60
    assert "can't count this start" in capsys.readouterr().err


def test_a_restart_tells_and_waits_then_starts(home, tmp_path):
    had_restarts(home)
    began = time.monotonic()
    code, said, _ = run(home, sys.executable, "-c", NOTE, str(tmp_path / "notes"))
    assert (code, said) == (0, "launch: a restart: waiting 1 s\n")
    assert time.monotonic() - began >= 1
    assert len(notes(tmp_path / "notes")) == 1


def test_a_crash_loop_starts_nothing(home, tmp_path):
    had_restarts(home, 30, 20, 10)
    budget = ("--restarts", "3", "--within", "60")
    code, said, _ = run(home, sys.executable, "-c", NOTE, str(tmp_path / "notes"), budget=budget)
    assert code == 3
    assert said.startswith("launch: crash loop: flights was restarted 3 times within 60 s")
    assert "right would be" in said
    assert not (tmp_path / "notes").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_wait_at_once(home, tmp_path, number):
    had_restarts(home, 4, 3, 2, 1)
    with launcher(home, sys.executable, "-c", NOTE, str(tmp_path / "notes")) as process:
        assert process.stderr.readline() == "launch: a restart: waiting 16 s\n"
        began = time.monotonic()
        process.send_signal(number)
        assert process.wait(10) == 130
        assert time.monotonic() - began < 5
    assert not (tmp_path / "notes").exists()


def test_an_earlier_start_is_dead_before_the_next_one(home, tmp_path):
    with launcher(home, sys.executable, "-c", SLEEP) as old:
        assert old.stdout.readline() == "up\n"
        old.send_signal(signal.SIGSTOP)
        starts_file(home).unlink()
        look = f"{NOTE}print(open('/proc/{old.pid}/stat').read().split()[2])"  # a zombie: nobody has waited for it
        with launcher(home, sys.executable, "-c", look, str(tmp_path / "notes")) as new:
            state, said = new.communicate(timeout=60)
        assert state == "Z\n"
        assert said == f"launch: killed what an earlier start has left: {old.pid}\n"
        assert old.wait() == -signal.SIGKILL
    assert len(notes(tmp_path / "notes")) == 1


def test_where_an_earlier_start_lives_on_nothing_is_started(home, monkeypatch, capsys):
    def survive(*_):
        raise TimeoutError("processes [4711] live on")

    monkeypatch.setattr(fence, "fence", survive)
    monkeypatch.setattr(os, "execvpe", lambda *_: pytest.fail("it was started"))
    with signals_kept():
        assert launch.main(["--home", str(home), "--", "true"]) == 1
    assert "flights can't be ended: processes [4711]" in capsys.readouterr().err


@contextmanager
def signals_kept():
    """The launcher sets its process's signals, and here this is the tests'."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("command", ["no-such-program", "/no/such", "{tmp}/plain"])
def test_a_command_that_is_not_there_is_refused(home, tmp_path, command):
    (tmp_path / "plain").write_text("not to be run")
    code, said, _ = run(home, command.format(tmp=tmp_path))
    assert code == 2
    assert said.startswith(f"launch: {command.format(tmp=tmp_path)}: can't be run: ")
    assert str(Path(sys.executable).parent) in said


@pytest.mark.parametrize("arguments", [[], ["--home", "x"], ["--", "true"], ["--home", "x", "--restarts", "?", "true"]])
def test_a_wrong_call_is_refused(arguments):
    wrong = subprocess.run(
        [sys.executable, "-m", "tailrace.drivers.launch", *arguments], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "usage: python -m tailrace.drivers.launch" in wrong.stderr


def test_it_imports_nothing_heavy():
    script = "import tailrace.drivers.launch, sys; print(sorted({n.partition('.')[0] for n in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert not {"pyarrow", "numpy", "pandas", "pyspark", "airflow", "pydantic"} & set(eval(loaded))


def test_what_a_killed_driver_leaves_is_found_by_the_next(home, tmp_path):
    """PySpark's way: a daemon in a process group of its own outlives the driver."""
    fork = (
        "import os, time\nif not os.fork():\n    os.setpgid(0, 0)\n    print(os.getpid(), flush=True)\ntime.sleep(600)"
    )
    with launcher(home, sys.executable, "-c", fork) as old:
        daemon = int(old.stdout.readline())
        old.kill()
        old.wait()
        assert psutil.pid_exists(daemon)
        starts_file(home).unlink()
        assert run(home, "true")[:2] == (0, f"launch: killed what an earlier start has left: {daemon}\n")
    with suppress(psutil.NoSuchProcess):
        assert psutil.Process(daemon).status() == psutil.STATUS_ZOMBIE
