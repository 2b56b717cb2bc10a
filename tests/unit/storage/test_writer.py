"""One driver of a query among machines, played by processes that hold different machine names over one directory.

Locks of files hold among processes of one machine, so each of them has the query's lock files for itself.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest

from processes import until
from tailrace.storage import conditional_store
from tailrace.storage.layout import Layout
from tailrace.storage.writer import LOST, only_driver

TERM_S = 3.0
# A driver of a machine: it says that it drives, and ends when it is told to.
DRIVER = """
import sys
from contextlib import nullcontext
from pathlib import Path
from tailrace.ground.errors import Busy
from tailrace.storage.layout import Layout
from tailrace.storage.writer import only_driver

Layout.lock = lambda *arguments: nullcontext()  # of another machine
try:
    with only_driver(Layout.of(Path(sys.argv[1]), "q"), sys.argv[2], float(sys.argv[3])):
        print("drives", flush=True)
        sys.stdin.readline()
    print("ended", flush=True)
except Busy as busy:
    print(busy, flush=True)
"""


@pytest.fixture
def start(tmp_path):
    """Start a driver on a machine of the given name."""
    Layout.of(tmp_path, "q").home.mkdir(parents=True)
    drivers = []

    def start(machine):
        drivers.append(
            subprocess.Popen(
                [sys.executable, "-c", DRIVER, str(tmp_path), machine, str(TERM_S)],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return drivers[-1]

    yield start
    for driver in drivers:
        driver.kill()
        driver.communicate()


def end(driver):
    """The rest of what a driver says, and its exit code, once it is asked to end."""
    out, _ = driver.communicate("\n", timeout=60)
    return out, driver.returncode


def test_a_driver_that_lives_is_not_replaced_from_another_machine(start):
    first = start("a")
    assert first.stdout.readline() == "drives\n"
    assert "a driver on another machine runs this query" in start("b").communicate(timeout=60)[0]
    assert end(first) == ("ended\n", 0)
    later = start("b")  # at once: the lease was released
    assert later.stdout.readline() == "drives\n"
    assert end(later) == ("ended\n", 0)


def test_a_killed_driver_is_replaced_from_another_machine(start):
    first = start("a")
    assert first.stdout.readline() == "drives\n"
    first.kill()
    second = start("b")
    assert second.stdout.readline() == "drives\n"
    assert end(second) == ("ended\n", 0)


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


def test_a_driver_waits_for_nothing_on_the_machine_of_the_one_that_died(start):
    first = start("a")
    assert first.stdout.readline() == "drives\n"
    first.kill()
    first.wait()
    second = start("a")
    assert second.stdout.readline() == "drives\n"
    second.kill()
    _, told = second.communicate()
    assert "waiting" not in told


@pytest.fixture
def full_disk(tmp_path, monkeypatch):
    """Make the disk of a query's lease full at so many writes, and ask for a drain then if it stays full."""
    layout, create = Layout.of(tmp_path, "q"), conditional_store.create_atomically
    layout.home.mkdir(parents=True)

    def make(writes):
        left = iter(range(writes))

        def create_if_there_is_room(target, content):
            if next(left, None) is not None:
                raise OSError(errno.ENOSPC, "No space left on device")
            create(target, content)

        monkeypatch.setattr(conditional_store, "create_atomically", create_if_there_is_room)
        return layout

    return make


def test_a_driver_that_is_started_on_a_full_disk_waits_for_room_and_says_so(full_disk, capsys):
    with only_driver(full_disk(3), "a", 0.6, waits=True):
        assert capsys.readouterr().err.count("waiting for the warehouse: [Errno 28] No space left") == 1


def test_nobody_waits_for_a_full_disk_without_being_asked_to_nor_when_it_is_drained(full_disk):
    with pytest.raises(OSError, match="No space"), only_driver(full_disk(1), "a", 0.6):
        pass
    layout = full_disk(100)
    layout.request_drain()
    with pytest.raises(OSError, match="No space"), only_driver(layout, "a", 0.6, waits=True):
        pass
