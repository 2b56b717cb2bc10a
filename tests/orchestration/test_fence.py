"""The fence kills exactly the processes that carry the mark of another start of the same home."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

import psutil
import pytest

from kit.parts.processes import is_dead
from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers.fence import MARK, dead, fence, kill, mark, marked

pytestmark = pytest.mark.needs("process")

IGNORES_SIGTERM = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""
PARENT_OF_THREE = """
import os, signal, sys, time
pids = []
for make in (lambda: os.setpgid(0, 0), os.setsid, lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)):
    pid = os.fork()
    if not pid:
        make()
        time.sleep(600)
    pids.append(pid)
print(*pids, flush=True)
time.sleep(600)
"""


@pytest.fixture
def start():
    """Starts a Python script, with a mark or without; returns the process and the child pids that it printed."""
    processes, child_pids = [], []

    def start(code, mark_value=None):
        inherited = {name: text for name, text in os.environ.items() if name != MARK}
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=inherited | ({MARK: mark_value} if mark_value else {}),
            stdout=subprocess.PIPE,
            text=True,
        )
        words = process.stdout.readline().split()
        children = [int(word) for word in words if word != "ready"]
        child_pids.extend(children)
        processes.append(process)
        return process, children

    yield start
    for pid in child_pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def test_every_process_of_another_start_is_killed(tmp_path, start):
    process, children = start(PARENT_OF_THREE, mark(tmp_path, "old"))
    assert sorted(fence(tmp_path, "new")) == sorted([process.pid, *children])
    assert all(map(is_dead, [process.pid, *children]))
    assert marked(tmp_path) == []


def test_a_suspended_process_is_killed_too(tmp_path, start):
    process, _ = start(IGNORES_SIGTERM, mark(tmp_path, "old"))
    process.send_signal(signal.SIGSTOP)
    assert fence(tmp_path, None) == [process.pid]
    assert process.wait() == -signal.SIGKILL


def test_only_processes_of_another_start_of_the_same_home_are_killed(tmp_path, start):
    same, _ = start(IGNORES_SIGTERM, mark(tmp_path, "new"))
    other, _ = start(IGNORES_SIGTERM, mark(tmp_path / "other", "old"))
    longer, _ = start(IGNORES_SIGTERM, mark(f"{tmp_path}-2", "old"))
    unmarked, _ = start(IGNORES_SIGTERM)
    assert fence(tmp_path, "new") == []
    assert [process.pid for process in marked(tmp_path)] == [same.pid]
    assert not any(is_dead(process.pid) for process in (same, other, longer, unmarked))
    assert fence(tmp_path, None) == [same.pid]


def test_every_spelling_of_a_homes_path_counts_as_the_same_home(tmp_path, start, monkeypatch):
    (tmp_path / "real#1").mkdir()
    (tmp_path / "link").symlink_to("real#1")
    by_mark, _ = start(IGNORES_SIGTERM, mark(tmp_path / "link", "old"))
    by_hand, _ = start(IGNORES_SIGTERM, f"{tmp_path}/link#old")
    monkeypatch.chdir(tmp_path)
    assert sorted(fence("./real#1/../link", "new")) == sorted([by_mark.pid, by_hand.pid])


def test_the_fence_spares_itself_and_its_ancestors(tmp_path, start):
    inner_script = (
        "import subprocess, sys; from tailrace.drivers.fence import fence\n"
        f"brother = subprocess.Popen([sys.executable, '-c', {IGNORES_SIGTERM!r}], stdout=subprocess.PIPE)\n"
        "brother.stdout.readline()\n"
        f"assert fence({str(tmp_path)!r}, 'new') == [brother.pid] and brother.wait() == -9\n"
        f"open({str(tmp_path / 'right')!r}, 'w')"
    )
    outer_script = (
        "import subprocess, sys, time\n"
        f"subprocess.run([sys.executable, '-c', {inner_script!r}])\n"
        "print('ready', flush=True); time.sleep(600)"
    )
    process, _ = start(outer_script, mark(tmp_path, "old"))
    assert (tmp_path / "right").exists()
    assert process.poll() is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start processes of two users")
def test_another_users_process_is_spared(tmp_path):
    process = subprocess.Popen(["/bin/sleep", "600"], env={MARK: mark(tmp_path, "old")}, user=65534)
    try:
        assert fence(tmp_path, "new") == []
        assert not is_dead(process.pid)
    finally:
        process.kill()
        process.wait()


def test_children_forked_during_the_fence_are_killed_too(tmp_path, start):
    children = []

    def find_and_fork():
        """Fork another process right after each of the first three looks."""
        processes = marked(tmp_path)
        if len(children) < 3:
            children.append(start(IGNORES_SIGTERM, mark(tmp_path, "old"))[0])
        return processes

    parent, _ = start(IGNORES_SIGTERM, mark(tmp_path, "old"))
    assert kill(find_and_fork, PATIENCE_S) == sorted(process.pid for process in (parent, *children))
    assert marked(tmp_path) == []


def test_a_process_that_survives_raises_with_its_pid(tmp_path, start, monkeypatch):
    process, _ = start(IGNORES_SIGTERM, mark(tmp_path, "old"))
    monkeypatch.setattr(psutil.Process, "kill", lambda self: None)
    with pytest.raises(TimeoutError, match=rf"processes \[{process.pid}\] live on 0.3 s after SIGKILL"):
        fence(tmp_path, "new", wait_s=0.3)


def test_the_fence_waits_for_a_process_that_has_lost_its_environment(tmp_path, start, monkeypatch):
    """An exiting process loses its environment, so its mark, before its last write ends."""
    process, _ = start(IGNORES_SIGTERM, mark(tmp_path, "old"))
    results = iter([marked(tmp_path)])
    monkeypatch.setattr(psutil.Process, "kill", lambda self: None)
    with pytest.raises(TimeoutError, match=str(process.pid)):
        kill(lambda: next(results, []), 0.3)


def test_a_zombie_with_living_threads_is_not_dead(start):
    script = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "print('ready', flush=True)\n"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    process, _ = start(script)
    handle = psutil.Process(process.pid)
    until(lambda: handle.status() == psutil.STATUS_ZOMBIE)
    assert not dead(handle)
    process.kill()
    until(lambda: dead(handle), "a zombie that nobody has waited for is dead")
    process.wait()
    assert dead(handle)


def test_the_fence_as_a_command_kills_every_start_of_a_home(start, tmp_path):
    parent, pids = start(PARENT_OF_THREE, mark(tmp_path, "token"))
    other, _ = start(IGNORES_SIGTERM, mark(tmp_path / "another", "token"))
    pids.append(parent.pid)
    subprocess.run([sys.executable, "-m", "tailrace.drivers.fence", str(tmp_path)], check=True)
    assert all(map(is_dead, pids))
    assert not is_dead(other.pid)
