"""The fence: whatever carries the mark of another start is dead after it, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from processes import is_dead
from tailrace.drivers.fence import MARK, dead, fence, kill, mark, marked

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
time.sleep(600)
"""
PARENT = """
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
    """Start Python code under a mark, or none; gives the process, and the pids of the children that it printed."""
    processes, started = [], []

    def start(code, value=None):
        inherited = {name: text for name, text in os.environ.items() if name != MARK}
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=inherited | ({MARK: value} if value else {}),
            stdout=subprocess.PIPE,
            text=True,
        )
        said = process.stdout.readline().split()
        children = [int(word) for word in said if word != "ready"]
        started.extend(children)
        processes.append(process)
        return process, children

    yield start
    for pid in started:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def test_every_process_of_another_start_is_killed(tmp_path, start):
    process, children = start(PARENT, mark(tmp_path, "old"))
    assert sorted(fence(tmp_path, "new")) == sorted([process.pid, *children])
    assert all(map(is_dead, [process.pid, *children]))
    assert marked(tmp_path) == []


def test_one_that_is_stopped_dies_too(tmp_path, start):
    process, _ = start(STUBBORN, mark(tmp_path, "old"))
    process.send_signal(signal.SIGSTOP)
    assert fence(tmp_path, None) == [process.pid]
    assert process.wait() == -signal.SIGKILL


def test_only_another_start_of_this_home_dies(tmp_path, start):
    same, _ = start(STUBBORN, mark(tmp_path, "new"))
    other, _ = start(STUBBORN, mark(tmp_path / "other", "old"))
    longer, _ = start(STUBBORN, mark(f"{tmp_path}-2", "old"))
    nobodys, _ = start(STUBBORN)
    assert fence(tmp_path, "new") == []
    assert [process.pid for process in marked(tmp_path)] == [same.pid]
    assert not any(is_dead(process.pid) for process in (same, other, longer, nobodys))
    assert fence(tmp_path, None) == [same.pid]


def test_a_home_is_itself_in_every_spelling(tmp_path, start, monkeypatch):
    (tmp_path / "real#1").mkdir()
    (tmp_path / "link").symlink_to("real#1")
    by_mark, _ = start(STUBBORN, mark(tmp_path / "link", "old"))
    by_hand, _ = start(STUBBORN, f"{tmp_path}/link#old")
    monkeypatch.chdir(tmp_path)
    assert sorted(fence("./real#1/../link", "new")) == sorted([by_mark.pid, by_hand.pid])


def test_it_spares_itself_and_its_ancestors(tmp_path, start):
    inner = (
        "import subprocess, sys; from tailrace.drivers.fence import fence\n"
        f"brother = subprocess.Popen([sys.executable, '-c', {STUBBORN!r}], stdout=subprocess.PIPE)\n"
        "brother.stdout.readline()\n"
        f"assert fence({str(tmp_path)!r}, 'new') == [brother.pid] and brother.wait() == -9\n"
        f"open({str(tmp_path / 'right')!r}, 'w')"
    )
    outer = (
        "import subprocess, sys, time\n"
        f"subprocess.run([sys.executable, '-c', {inner!r}])\n"
        "print('ready', flush=True); time.sleep(600)"
    )
    process, _ = start(outer, mark(tmp_path, "old"))
    assert (tmp_path / "right").exists()
    assert process.poll() is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start processes of two users")
def test_another_users_process_is_not_ours(tmp_path):
    theirs = subprocess.Popen(["/bin/sleep", "600"], env={MARK: mark(tmp_path, "old")}, user=65534)
    try:
        assert fence(tmp_path, "new") == []
        assert not is_dead(theirs.pid)
    finally:
        theirs.kill()
        theirs.wait()


def test_it_looks_again_until_nothing_is_found(tmp_path, start):
    born = []

    def find():
        """As if a child were forked right after each of the first three looks."""
        found = marked(tmp_path)
        if len(born) < 3:
            born.append(start(STUBBORN, mark(tmp_path, "old"))[0])
        return found

    first, _ = start(STUBBORN, mark(tmp_path, "old"))
    assert kill(find, 30) == sorted(process.pid for process in (first, *born))
    assert marked(tmp_path) == []


def test_one_that_lives_on_is_told(tmp_path, start, monkeypatch):
    process, _ = start(STUBBORN, mark(tmp_path, "old"))
    monkeypatch.setattr(psutil.Process, "kill", lambda self: None)
    with pytest.raises(TimeoutError, match=rf"processes \[{process.pid}\] live on 0.3 s after SIGKILL"):
        fence(tmp_path, "new", wait_s=0.3)


def test_one_that_is_not_found_any_more_must_still_die(tmp_path, start, monkeypatch):
    """A process on its way out has lost its environment, while its last write may go on."""
    process, _ = start(STUBBORN, mark(tmp_path, "old"))
    looks = iter([marked(tmp_path)])
    monkeypatch.setattr(psutil.Process, "kill", lambda self: None)
    with pytest.raises(TimeoutError, match=str(process.pid)):
        kill(lambda: next(looks, []), 0.3)


def test_one_whose_last_threads_live_is_not_dead(start):
    code = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "print('ready', flush=True)\n"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    process, _ = start(code)
    seen, end = psutil.Process(process.pid), time.monotonic() + 10
    while seen.status() != psutil.STATUS_ZOMBIE and time.monotonic() < end:
        time.sleep(0.01)
    assert not dead(seen)
    process.kill()
    while not dead(seen) and time.monotonic() < end:
        time.sleep(0.01)
    assert dead(seen), "a zombie that nobody has waited for"
    process.wait()
    assert dead(seen)


def test_as_a_command_it_leaves_nothing_of_any_start(start, tmp_path):
    parent, children = start(PARENT, mark(tmp_path, "token"))
    other, _ = start(STUBBORN, mark(tmp_path / "another", "token"))
    children.append(parent.pid)
    subprocess.run([sys.executable, "-m", "tailrace.drivers.fence", str(tmp_path)], check=True)
    assert all(map(is_dead, children))
    assert not is_dead(other.pid)
