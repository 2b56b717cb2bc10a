"""K10 among processes: one driver of a query among machines, by a lease in a directory or a bucket.

A machine is a process with lock files of its own, as a container has them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from functools import partial

import pytest

from kit.suite.waiting import PATIENCE_S, until
from tailrace.ground.errors import Busy
from tailrace.ground.files.object_path import ObjectPath
from tailrace.storage.layout import Layout
from tailrace.storage.locks import bucket_lock
from tailrace.storage.writer import LOST

TERM_S = 3.0
# A driver of a machine: it says that it drives, and ends when it is told to.
DRIVER = """
import sys
from contextlib import nullcontext
from pathlib import Path
from tailrace.ground.errors import Busy
from tailrace.storage.layout import Layout
from tailrace.storage.writer import only_driver

Layout.lock = lambda *arguments: nullcontext()  # a directory's lock files are of another machine
_, warehouse, machine, term_s = sys.argv
try:
    layout = Layout.for_query(warehouse if "://" in warehouse else Path(warehouse), "q")
    with only_driver(layout, machine, float(term_s)):
        print("drives", flush=True)
        sys.stdin.readline()
    print("ended", flush=True)
except Busy as busy:
    print(busy, flush=True)
"""


REFUSALS = {
    "directory": "a driver on another machine runs this query",
    "bucket": "another process runs this query's driver",
}


@pytest.fixture(params=REFUSALS)
def start(request, tmp_path):
    """Start a driver on a machine of the given name; `start.refusal` is what a second one is told."""
    if request.param == "bucket":
        place = request.getfixturevalue("warehouse")
    else:
        place = str(tmp_path / "warehouse")
        Layout.for_query(tmp_path / "warehouse", "q").home.mkdir(parents=True)
    drivers = []

    def start(machine):
        caches = {"XDG_CACHE_HOME": str(tmp_path / machine), "PYTHONPATH": os.pathsep.join(sys.path)}
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [sys.executable, "-c", DRIVER, place, machine, str(TERM_S)]
        drivers.append(subprocess.Popen(command, env=os.environ | caches, text=True, **pipes))
        return drivers[-1]

    start.refusal = REFUSALS[request.param]
    yield start
    for driver in drivers:
        driver.kill()
        driver.communicate()


def end(driver):
    """The rest of what a driver says, and its exit code, once it is asked to end."""
    out, _ = driver.communicate("\n", timeout=PATIENCE_S)
    return out, driver.returncode


def test_a_driver_that_lives_is_not_replaced(start):
    first = start("a")
    assert first.stdout.readline() == "drives\n"
    assert start.refusal in start("b").communicate(timeout=PATIENCE_S)[0]
    assert end(first) == ("ended\n", 0)
    later = start("b")  # at once: the lease was released
    assert later.stdout.readline() == "drives\n"
    out, told = later.communicate("\n", timeout=PATIENCE_S)
    assert (out, later.returncode) == ("ended\n", 0)
    assert "waiting" not in told


def test_a_killed_driver_is_replaced_at_once_on_its_machine_and_after_a_term_elsewhere(start):
    first = start("a")
    assert first.stdout.readline() == "drives\n"
    first.kill()
    first.wait()
    second = start("a")
    assert second.stdout.readline() == "drives\n"
    second.kill()
    assert "waiting" not in second.communicate()[1]
    third = start("b")
    assert third.stdout.readline() == "drives\n"
    assert end(third) == ("ended\n", 0)


def test_a_stopped_driver_that_goes_on_after_another_machine_has_its_query_ends_at_once(start):
    first = start("a")
    assert first.stdout.readline() == "drives\n"
    first.send_signal(signal.SIGSTOP)
    second = start("b")
    assert second.stdout.readline() == "drives\n"
    first.send_signal(signal.SIGCONT)
    until(lambda: first.poll() is not None)
    assert first.returncode == LOST
    assert "a driver on another machine goes on with the stream" in first.stderr.read()
    assert end(second) == ("ended\n", 0)


@pytest.mark.parametrize("start", ["bucket"], indirect=True)
def test_a_second_driver_is_refused_on_its_own_machine_too(start):
    first = start("a")
    assert first.stdout.readline() == "drives\n"
    assert start.refusal in start("a").communicate(timeout=PATIENCE_S)[0]
    assert end(first) == ("ended\n", 0)


def test_a_lock_that_was_lost_is_told_before_a_commit(warehouse):
    home = Layout.for_query(warehouse, "q").home
    with bucket_lock(home, "correction", None, term_s=1.0) as require_held:
        require_held()
        lease = home / "lease" / "correction"
        until(partial(_take, lease))

        def is_lost() -> bool:
            try:
                require_held()
            except Busy as busy:
                return "another process corrects this query" in str(busy)
            return False

        until(is_lost)


def _take(lease: ObjectPath) -> bool:
    stored = lease.stored()
    return lease.replace(b'{"epoch": 9, "holder": "other", "machine": "other", "beat": 1}', stored.version)


@pytest.mark.parametrize("replaces", [False, True])
def test_of_many_that_create_or_replace_an_object_one_does(warehouse, replaces):
    file = Layout.for_query(warehouse, "q").home / "object"
    if replaces:
        assert file.create(b"first")
        version = file.stored().version
    outcomes: list[bool] = []
    barrier = threading.Barrier(8)

    def attempt(content: bytes) -> None:
        barrier.wait()
        outcomes.append(file.replace(content, version) if replaces else file.create(content))

    threads = [threading.Thread(target=attempt, args=(str(number).encode(),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [False] * 7 + [True]
