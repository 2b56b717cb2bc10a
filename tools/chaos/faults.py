"""The faults that `make chaos` draws: each strikes at something that it observes, and returns what came of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import psutil
from live_driver import MOST_S, POLL_S, LiveDriver, TooLong, await_

from tailrace.ground.errors import InUse

_CORRECTION_STAGES = ("begun", "staged", "written")
"""How far a correction gets: it holds its lock; it has staged a file of answers; its answers are in the table."""


class Fault(NamedTuple):
    """What was done, how many processes were killed, and the seconds from that to the next commit.

    `recovery_s` is None where nothing had to recover. `wrong` tells of what must not happen.
    """

    what: str
    kills: int
    recovery_s: float | None
    wrong: str | None = None


def kill_driver(driver: LiveDriver, draw: random.Random) -> Fault:
    """Kill the driver; its JVM, which may still commit, belongs to it: a commit counts once the next driver reports."""
    pid = driver.pid
    if pid is None:
        return Fault("the driver was down already", 0, None)
    os.kill(pid, signal.SIGKILL)
    struck = time.monotonic()
    await_(lambda: driver.reporting_pid not in (pid, None), MOST_S)
    driver.await_commits(driver.commits + 1)
    return Fault("kill -9 of the driver", 1, time.monotonic() - struck)


def kill_amid_change(driver: LiveDriver, draw: random.Random) -> Fault:
    """Ask for another number of tasks, and kill the driver when the batch that changes it is begun."""
    before, tasks = driver.tasks, draw.choice([number for number in range(1, 5) if number != driver.tasks])
    request = driver.begin("rescale", str(tasks))
    said, _ = request.communicate()
    if request.returncode:
        return Fault("a request for tasks", 0, None, f"a request for {tasks} tasks failed: {said[-300:]}")
    await_(lambda: driver.tasks == tasks, MOST_S)
    fault = kill_driver(driver, draw)
    wrong = None if driver.tasks == tasks else f"{driver.tasks} tasks after a change from {before} to {tasks}"
    return fault._replace(what=f"{fault.what} at a change from {before} to {tasks} tasks", wrong=wrong)


def kill_worker(driver: LiveDriver, draw: random.Random) -> Fault:
    """Kill a Python worker of Spark's that works on a batch which is begun and not committed."""
    worker = _working(driver)
    batch = driver.commits
    worker.kill()
    struck = time.monotonic()
    amid = driver.commits == batch
    driver.await_commits(batch + 1 if amid else batch + 2)
    return Fault(
        f"kill -9 of a Python worker {'amid' if amid else 'just after'} batch {batch}", 1, time.monotonic() - struck
    )


def _working(driver: LiveDriver) -> psutil.Process:
    """A Python worker that has used the processor since a batch was begun, while it is not committed."""
    end = time.monotonic() + MOST_S
    while time.monotonic() < end:
        await_(lambda: driver.begun > driver.commits, MOST_S)
        before = {worker.pid: _cpu_s(worker) for worker in driver.workers()}
        while driver.begun > driver.commits and time.monotonic() < end:
            for worker in driver.workers():
                if _cpu_s(worker) > before.get(worker.pid, 0.0):
                    return worker
            time.sleep(POLL_S)
    raise TooLong("no Python worker of the driver's works")


def _cpu_s(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def stop_and_continue(driver: LiveDriver, draw: random.Random) -> Fault:
    """Stop the driver with all that it started; a second one must be refused meanwhile; let the first one go on."""
    processes = driver.processes()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    try:
        before = driver.commits
        second = driver.begin("run")
        try:
            said = second.communicate(timeout=MOST_S)[0]
        finally:
            second.kill()
        wrong = None
        if "another process runs this query's driver" not in said or second.returncode != InUse.exit_code:
            wrong = f"a second driver was not refused: {said[-300:]}"
        elif driver.commits != before:
            wrong = "there was a commit while the driver was stopped"
    finally:
        for process in reversed(processes):
            with suppress(psutil.NoSuchProcess):
                process.resume()
    continued = time.monotonic()
    driver.await_commits(before + 1)
    return Fault("SIGSTOP of the driver, a second one refused, SIGCONT", 0, time.monotonic() - continued, wrong)


def kill_correction(driver: LiveDriver, draw: random.Random) -> Fault:
    """Kill a correction half-way, then run it again: its commit is the ledger's."""
    stage = draw.choice(_CORRECTION_STAGES)
    table = driver.home / "corrections"
    staged, written = len(list(table.glob("*.parquet"))), len(list(table.glob("_delta_log/*.json")))
    reached: dict[str, Callable[[], bool]] = {
        "begun": lambda: holds_lock(process, "correction"),
        "staged": lambda: len(list(table.glob("*.parquet"))) > staged,
        "written": lambda: len(list(table.glob("_delta_log/*.json"))) > written,
    }
    victim = driver.begin("correct")
    process = psutil.Process(victim.pid)
    await_(lambda: victim.poll() is not None or reached[stage](), MOST_S)
    kill_command(process)
    struck = time.monotonic()
    said, _ = victim.communicate()
    again = correct(driver)
    if victim.returncode != -signal.SIGKILL:
        wrong = None if victim.returncode == 0 else f"a correction failed: {said[-300:]}"
        return Fault("a correction ended before it could be killed", 0, None, wrong or again)
    return Fault(f"kill -9 of a correction, {stage}", 1, time.monotonic() - struck, again)


def correct(driver: LiveDriver, seconds: float = MOST_S) -> str | None:
    """Correct all that is late, beside the stream; returns what is wrong, which a longer time than `seconds` is, too.

    A correction waits, and says so, while the stream has batches to run again.
    """
    end = time.monotonic() + seconds
    while True:
        correction = driver.begin("correct")
        try:
            said, _ = correction.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            kill_command(psutil.Process(correction.pid))
            correction.communicate()
            return f"a correction took more than {seconds:g} s"
        if correction.returncode == 0:
            return None
        if "batches are to be run again" not in said or time.monotonic() > end:
            return f"a correction failed: {said[-300:]}"


def kill_command(process: psutil.Process) -> None:
    """Kill a command with all that it has started."""
    for one in [process, *_children(process)]:
        with suppress(psutil.NoSuchProcess):
            one.kill()


def holds_lock(process: psutil.Process, lock: str) -> bool:
    """True while a command holds a lock of its query, or waits for it."""
    with suppress(psutil.Error):
        return any(file.path.endswith(f".{lock}.lock") for file in process.open_files())
    return False


def _children(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return list(process.children(recursive=True))
    return []


FAULTS = {kill_driver: 10, kill_worker: 8, kill_correction: 5, kill_amid_change: 4, stop_and_continue: 2}
"""The faults, by how often each is drawn."""
