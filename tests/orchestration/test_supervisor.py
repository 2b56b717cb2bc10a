"""The driver host against a real supervisord: at most one driver per name, also where a deployer is killed."""

from __future__ import annotations

import http.server
import itertools
import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from xmlrpc.client import Fault
from xmlrpc.server import SimpleXMLRPCServer

import psutil
import pytest
from filelock import FileLock

from kit.parts.processes import command, is_dead
from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers.driver_host import Driver, DriverHost, DriverHostDown
from tailrace.drivers.supervisor import SupervisorHost, _driver
from tailrace.embedded.embedded_processes import EmbeddedHost
from tailrace.ground.errors import Refused

pytestmark = pytest.mark.needs("process")

NUMBERS = itertools.count()
# Scripts of the drivers' stand-ins: each records its start in a file, then sleeps, ignores SIGTERM or obeys it.
RECORD_START = """
import json, os, signal, sys, time
with open(sys.argv[1], "a") as notes:
    print(json.dumps([os.getpid(), sys.argv[2:], dict(os.environ)]), file=notes)
"""
SLEEP = f"{RECORD_START}time.sleep(600)"
IGNORES_SIGTERM = f"""
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.fork()
{SLEEP}
"""
EXITS_ON_SIGTERM = f"""
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
{SLEEP}
"""
SPECIAL_TEXTS = [
    *("a b", "it's", 'say "x"', "'q'", '"q"', 'it\'s "both"', "a,b=c", "", " lead", "trail ", "\t"),
    *("100%", "%%", "%s", "%(here)s", "%%(here)s", "%(ENV_HOME)s", "'%(here)s"),
    *(";", "#", "x ;y", "x #y", "x\t;y", "\u2003;z", "' ;'", "'#"),
    *("$HOME", "`id`", "*", "~", "back\\slash", "\\n", "\\0101", "é ü € 😀"),
]
KILLED_DEPLOYER = """
import os, signal, sys
from pathlib import Path
from tailrace.drivers import rpc
from tailrace.drivers.supervisor import SupervisorHost
when, point, url, programs, password, name, *command = sys.argv[1:]
real = rpc.Rpc.call
def die():
    os.kill(os.getpid(), signal.SIGKILL)
def call(self, method, *arguments):
    if (when, point) == ("before", method):
        die()
    answer = real(self, method, *arguments)
    if (when, point) == ("after", method):
        die()
    return answer
rpc.Rpc.call = call
if point == "write":
    os.fsync = lambda _: die()
print(SupervisorHost(url, Path(programs), "tailrace", password).deploy(name, command, {}).pid)
"""


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    with EmbeddedHost(tmp_path_factory.mktemp("host")) as embedded:
        yield embedded


@pytest.fixture
def host(embedded) -> SupervisorHost:
    return embedded.host


@pytest.fixture
def name(host):
    name = f"flights_{next(NUMBERS)}"
    yield name
    host.stop(name, 0)


@pytest.fixture
def starts(tmp_path):
    file = tmp_path / "notes"

    def records() -> list[tuple[int, list[str], dict[str, str]]]:
        return [tuple(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []

    records.file = str(file)
    yield records
    for pid, *_ in records():
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if str(file) in command(process):  # its pid may belong to another process by now
                process.kill()


@pytest.fixture
def stand_in(starts, tmp_path):
    """Builds the command of a stand-in that records its starts."""

    def stand_in(code, *arguments):
        script = tmp_path / f"stand_in_{next(NUMBERS)}.py"
        script.write_text(code)
        return [sys.executable, str(script), starts.file, *arguments]

    return stand_in


def deploy_killed_at(embedded, name, when, point, command) -> subprocess.CompletedProcess:
    """Deploy in another process, which is killed before or after one step of it."""
    host, arguments = embedded.host, [when, point]
    arguments += [host.rpc.url, str(host.programs), embedded.access.password, name, *command]
    return subprocess.run(
        [sys.executable, "-c", KILLED_DEPLOYER, *arguments], capture_output=True, text=True, check=False
    )


def test_the_host_implements_the_driver_host_protocol(host):
    typed_host: DriverHost = host  # only the names are checked: mypy does not read tests
    assert all(callable(getattr(typed_host, method)) for method in ("deploy", "inspect", "stop", "run", "last_lines"))


def test_deploy_is_idempotent(host, name, stand_in, starts):
    assert (host.inspect(name).state, host.inspect(name).alive) == ("absent", False)
    driver = host.deploy(name, stand_in(SLEEP), {"A": "1"})
    assert driver.alive
    assert driver.pid == until(starts)[0][0]
    until(lambda: host.inspect(name).state == "running")
    configuration = host._file(name).read_text()
    second = host.deploy(name, stand_in(SLEEP, "changed"), {"A": "2"})
    assert (second.state, second.pid, second.exit_code) == ("running", driver.pid, None)
    assert host._file(name).read_text() == configuration
    assert len(starts()) == 1


def test_concurrent_deployments_get_one_driver(embedded, host, name, stand_in, starts):
    arguments = [host.rpc.url, str(host.programs), embedded.access.password, name]
    script = f"import sys\nsys.stdin.readline()\n{KILLED_DEPLOYER}"
    deployers = [
        subprocess.Popen(
            [sys.executable, "-c", script, "", "", *arguments, *stand_in(SLEEP, str(variant))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for variant in range(5)
    ]
    for process in deployers:
        process.stdin.write("go\n")
        process.stdin.flush()
    pids = {process.communicate(timeout=PATIENCE_S)[0] for process in deployers}
    [(pid, [variant], _)] = until(starts)
    assert pids == {f"{pid}\n"}
    assert f"'{variant}'\n" in host._file(name).read_text(), "the configuration is another one than what runs"


def test_deploy_and_stop_wait_for_the_lock_of_other_processes(embedded, name, stand_in):
    impatient = SupervisorHost(
        embedded.host.rpc.url, embedded.host.programs, "tailrace", embedded.access.password, lock_s=0.2
    )
    with FileLock(impatient.programs / ".lock"):
        with pytest.raises(TimeoutError, match="others have deployed or stopped"):
            impatient.deploy(name, stand_in(SLEEP), {})
        with pytest.raises(TimeoutError, match="others have deployed or stopped"):
            impatient.stop(name, 1)
    assert impatient.inspect(name).state == "absent"
    assert not impatient._file(name).exists()


@pytest.mark.parametrize(
    ("before", "when", "point"),
    [
        *((before, "at", "write") for before in ("absent", "failed")),
        *((before, "before", "reloadConfig") for before in ("absent", "failed")),
        *((before, "after", "reloadConfig") for before in ("absent", "failed")),
        ("failed", "after", "removeProcessGroup"),
        *((before, "before", "addProcessGroup") for before in ("absent", "failed")),
        *((before, "after", "addProcessGroup") for before in ("absent", "failed")),
    ],
)
def test_the_next_deploy_completes_one_whose_process_was_killed(
    embedded, host, name, stand_in, starts, before, when, point
):
    if before == "failed":
        host.deploy(name, [sys.executable, "-c", "raise SystemExit(2)"], {})
        until(lambda: host.inspect(name).state == "failed")
    configuration = host._file(name).read_text() if before == "failed" else None
    assert deploy_killed_at(embedded, name, when, point, stand_in(SLEEP, "first")).returncode == -signal.SIGKILL
    if point == "write":
        assert (host._file(name).read_text() if host._file(name).exists() else None) == configuration, (
            "it is half written"
        )
    driver = host.deploy(name, stand_in(SLEEP, "second"), {})
    [(pid, [variant], _)] = until(starts)
    assert driver.pid == pid
    assert variant == ("first" if (when, point) == ("after", "addProcessGroup") else "second")
    assert host.deploy(name, stand_in(SLEEP, "third"), {}).pid == pid
    assert len(starts()) == 1


@pytest.mark.parametrize("code", [0, 2, 3, 126, 127, 130])
def test_a_driver_that_ended_is_reported_and_started_anew(host, name, stand_in, starts, code):
    host.deploy(name, stand_in(f"{RECORD_START}sys.exit({code})"), {"A": "1"})
    driver = until(lambda: (current := host.inspect(name)).state in ("ended", "failed") and current)
    assert (driver.state, driver.exit_code, driver.pid) == ("failed" if code else "ended", code, None)
    assert driver.detail == f"ended with exit code {code}"
    successor = host.deploy(name, stand_in(SLEEP, "changed"), {"A": "2"})
    assert successor.alive
    until(lambda: len(starts()) == 2)
    assert (starts()[1][0], starts()[1][1], starts()[1][2]["A"]) == (successor.pid, ["changed"], "2")


def test_a_removed_driver_is_started_anew(host, name, stand_in, starts):
    host.deploy(name, stand_in(EXITS_ON_SIGTERM), {})
    until(starts)
    host.rpc.call("stopProcess", name)
    assert (host.inspect(name).state, host.inspect(name).exit_code) == ("ended", 0)
    host.rpc.call("removeProcessGroup", name)
    assert host.inspect(name).state == "absent"
    assert host.deploy(name, stand_in(SLEEP), {}).alive
    until(lambda: len(starts()) == 2)


def test_a_killed_driver_is_restarted_and_counts_as_alive_meanwhile(host, name, stand_in, starts):
    pid = host.deploy(name, stand_in(SLEEP), {}).pid
    until(starts)
    os.kill(pid, signal.SIGKILL)

    def is_restarted():
        driver = host.inspect(name)
        assert driver.alive, driver
        return driver.pid not in (None, pid)

    until(is_restarted)
    until(lambda: len(starts()) == 2)


def test_between_a_crash_and_its_restart_a_driver_is_starting(host, name, stand_in, starts):
    host.deploy(name, stand_in(f"{RECORD_START}sys.exit(1)"), {})

    def pending_restart():
        driver = host.inspect(name)
        assert driver.alive, driver
        return driver.detail == "ended with exit code 1, to be restarted" and driver

    driver = until(pending_restart)
    assert (driver.state, driver.exit_code) == ("starting", None)
    configuration = host._file(name).read_text()
    host.deploy(name, stand_in(SLEEP), {})
    assert host._file(name).read_text() == configuration, "a driver that is starting counts as alive"
    assert host.stop(name, 5).state == "ended"
    start_count = len(starts())
    host.deploy(name, stand_in(SLEEP), {})
    until(lambda: len(starts()) == start_count + 1)


def test_a_missing_command_fails(host, name):
    driver = host.deploy(name, ["/no/such/program"], {})
    assert (driver.state, driver.detail) == ("starting", "can't find command '/no/such/program'")
    driver = until(lambda: (current := host.inspect(name)).state == "failed" and current)
    assert driver.exit_code is None
    assert "can't find command '/no/such/program'" in driver.detail


@pytest.mark.parametrize(
    ("statename", "start", "code", "state", "exit_code"),
    [
        ("STOPPED", 0, 0, "starting", None),
        ("STOPPED", 1, -1, "ended", -1),
        ("STARTING", 1, 0, "starting", None),
        ("RUNNING", 1, 0, "running", None),
        ("BACKOFF", 1, 0, "starting", None),
        ("STOPPING", 1, 0, "stopping", None),
        ("EXITED", 1, 0, "ended", 0),
        ("EXITED", 1, 130, "failed", 130),
        ("EXITED", 1, -1, "starting", None),
        ("FATAL", 1, 0, "failed", None),
        ("UNKNOWN", 1, 0, "failed", None),
    ],
)
def test_supervisords_states_map_to_the_interfaces_states(statename, start, code, state, exit_code):
    info = {"statename": statename, "start": start, "stop": 0, "exitstatus": code, "pid": 0, "spawnerr": ""}
    driver = _driver("flights", info | {"description": "…", "stdout_logfile": "/programs/flights.log"})
    assert driver.log == "/programs/flights.log"
    assert (driver.state, driver.exit_code, driver.pid) == (state, exit_code, None)
    assert (driver.started_ms, driver.stopped_ms) == (start * 1000 or None, None)


def test_arguments_and_environment_reach_the_driver_unchanged(host, name, stand_in, starts):
    environment = {f"V{number}": value for number, value in enumerate(SPECIAL_TEXTS)}
    host.deploy(name, stand_in(SLEEP, *SPECIAL_TEXTS), environment)
    [(pid, arguments, actual)] = until(starts)
    assert arguments == SPECIAL_TEXTS
    assert {variable: actual[variable] for variable in environment} == environment
    assert host.inspect(name).pid == pid, "the pid is a shell's, not the driver's"
    assert stat.S_IMODE(host._file(name).stat().st_mode) == 0o600


def test_no_secret_of_the_environment_is_in_the_command(host, name, stand_in, starts):
    host.deploy(name, stand_in(SLEEP), {"PASSWORD": 'it\'s "this"'})
    until(starts)
    assert "this" not in host._file(name).read_text().partition("environment=")[0]


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\0b", "\udcff"])
def test_text_that_is_not_one_line_is_refused_and_not_shown(host, name, text):
    for arguments, environment in ((["x", f"secret{text}"], {}), (["x"], {"V": f"secret{text}"})):
        with pytest.raises(Refused, match="a single line of text") as refusal:
            host.deploy(name, arguments, environment)
        assert "secret" not in str(refusal.value)
    assert not host._file(name).exists()


@pytest.mark.parametrize("variable", ["", "1A", "A-B", "A B", "A=B", "A\n", "Ä"])
def test_an_invalid_name_of_a_variable_is_refused(host, name, variable):
    with pytest.raises(Refused, match="letters, digits and _"):
        host.deploy(name, ["x"], {variable: "1"})


def test_an_empty_command_is_refused(host, name):
    with pytest.raises(Refused, match="it has no command"):
        host.deploy(name, [], {})


@pytest.mark.parametrize("wrong", ["", "A", "1a", "a-b", "../a", "a b", "a:b", "a" * 64, "a\n", "ä", "a%s"])
def test_a_wrong_name_is_refused_by_every_operation(host, wrong):
    files = sorted(host.programs.iterdir())
    for operation in (
        lambda: host.deploy(wrong, ["x"], {}),
        lambda: host.inspect(wrong),
        lambda: host.stop(wrong, 0),
        lambda: host.last_lines(wrong, 1),
    ):
        with pytest.raises(Refused, match="it can't be called so"):
            operation()
    assert sorted(host.programs.iterdir()) == files


def test_a_driver_that_obeys_sigterm_is_stopped_before_the_deadline(host, name, stand_in, starts):
    pid = host.deploy(name, stand_in(EXITS_ON_SIGTERM), {}).pid
    until(starts)
    driver = host.stop(name, 60)
    assert (driver.state, driver.exit_code, driver.detail) == ("ended", 0, "stopped by request, ended with exit code 0")
    assert is_dead(pid)
    assert not host._file(name).exists(), "it would be back with supervisord's next start"


def test_a_driver_that_ignores_sigterm_is_killed_with_its_group_after_the_wait(host, name, stand_in, starts):
    leader = host.deploy(name, stand_in(IGNORES_SIGTERM), {}).pid
    until(lambda: len(starts()) == 2)
    pids, start_s = {pid for pid, *_ in starts()}, time.monotonic()
    assert leader in pids
    stopping = threading.Thread(target=host.stop, args=(name, 2.0))
    stopping.start()
    until(lambda: host.inspect(name).state == "stopping")
    assert host.deploy(name, stand_in(SLEEP), {}).state == "stopping", "it is alive, so it stays"
    until(lambda: is_dead(leader))
    assert time.monotonic() - start_s >= 2
    stopping.join()
    until(lambda: all(map(is_dead, pids)))  # a killed process takes a moment to be gone
    assert (host.inspect(name).state, host.inspect(name).exit_code) == ("ended", -1)
    program_names = [info["name"] for info in host.rpc.call("getAllProcessInfo")]
    assert not [
        leftover for leftover in (*program_names, *os.listdir(host.programs)) if leftover.startswith(f"{name}-")
    ]


def test_sigterm_goes_to_a_drivers_whole_process_group(host, name, stand_in, starts):
    code = f"import os, signal, sys\nif os.fork():\n    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n{SLEEP}"
    host.deploy(name, stand_in(code), {})
    until(lambda: len(starts()) == 2)
    assert host.stop(name, 60).exit_code == 0
    until(lambda: all(is_dead(pid) for pid, *_ in starts()))


def test_a_driver_between_a_crash_and_its_restart_is_stopped(host, name, stand_in, starts, monkeypatch):
    """supervisord refuses a stop then, and starts the driver again a moment later."""
    pid = host.deploy(name, stand_in(EXITS_ON_SIGTERM), {}).pid
    until(starts)
    call, refusals = host.rpc.call, iter([Fault(70, "NOT_RUNNING")])

    def refuse_once(method, *arguments):
        if method == "stopProcess" and (refusal := next(refusals, None)):
            raise refusal
        return call(method, *arguments)

    monkeypatch.setattr(host.rpc, "call", refuse_once)
    assert host.stop(name, 60).state == "ended"
    assert is_dead(pid)


@pytest.fixture
def impatient(embedded) -> SupervisorHost:
    """The host, for whose own actions nobody waits."""
    access = embedded.access
    return SupervisorHost(embedded.host.rpc.url, embedded.host.programs, access.user, access.password, soon_s=0.2)


def test_a_driver_that_cannot_be_stopped_raises(host, impatient, name, stand_in, starts, monkeypatch):
    host.deploy(name, stand_in(SLEEP), {})
    until(starts)
    call = impatient.rpc.call

    def refuse(method, *arguments):
        if method == "stopProcess":
            raise Fault(30, "FAILED: for a reason")
        return call(method, *arguments)

    monkeypatch.setattr(impatient.rpc, "call", refuse)
    with pytest.raises(TimeoutError, match="for a reason"):
        impatient.stop(name, 60)
    assert host.inspect(name).state == "running"


@pytest.mark.parametrize("state", ["absent", "failed"])
def test_a_driver_that_another_tool_starts_meanwhile_stays(host, name, stand_in, starts, monkeypatch, state):
    """`supervisorctl` takes no lock, so it may start one while another process deploys."""
    pid = host.deploy(name, stand_in(SLEEP), {}).pid
    until(starts)
    look, stale_states = host.inspect, iter([Driver(name, state, None, None, "")])
    monkeypatch.setattr(host, "inspect", lambda name: next(stale_states, None) or look(name))
    assert host.deploy(name, stand_in(SLEEP), {}).pid == pid
    assert len(starts()) == 1


def test_supervisord_neither_kills_before_the_wait_is_over_nor_fills_the_disk(host, name, stand_in):
    host.deploy(name, stand_in(SLEEP), {})
    [program] = [info for info in host.rpc.call("getAllConfigInfo") if info["name"] == name]
    assert program["stopwaitsecs"] >= 3600
    assert 0 < program["stdout_logfile_maxbytes"] * (program["stdout_logfile_backups"] + 1) <= 100 << 20


def test_a_driver_suspended_by_sigstop_is_killed(host, name, stand_in, starts):
    pid = host.deploy(name, stand_in(EXITS_ON_SIGTERM), {}).pid
    until(starts)
    os.kill(pid, signal.SIGSTOP)
    assert host.stop(name, 0.5).state == "ended"
    assert is_dead(pid)


def test_a_broken_configuration_of_another_program_does_not_prevent_a_stop(host, name, stand_in, starts):
    pid = host.deploy(name, stand_in(IGNORES_SIGTERM), {}).pid
    until(starts)
    broken = host.programs / "zz_broken.conf"
    broken.write_text("[program:zz_broken]\nenvironment=A=%(secret)s\n")
    try:
        assert host.stop(name, 0.2).state == "ended"
        assert is_dead(pid)
        with pytest.raises(Refused, match="can't read its configuration in section 'program:zz_broken'") as refusal:
            host.deploy(name, stand_in(SLEEP), {})
        assert "secret" not in str(refusal.value)
    finally:
        broken.unlink()


@pytest.mark.parametrize("code", [0, 7])
def test_a_command_is_run_to_its_end_and_leaves_no_program(host, name, starts, stand_in, code):
    command = stand_in(f"{RECORD_START}sys.exit({code})", *SPECIAL_TEXTS)
    for run_count in (1, 2):
        assert host.run(f"{name}-once", command, 60) == code
        assert len(starts()) == run_count
    assert starts()[0][1] == SPECIAL_TEXTS
    assert host.rpc.ask("getProcessInfo", f"{name}-once") is None
    assert not host._file(f"{name}-once").exists()


def test_a_command_that_is_missing_or_takes_too_long_has_no_exit_code(host, name):
    assert host.run(f"{name}-slow", [sys.executable, "-c", "import time; time.sleep(3)"], 0.2) is None
    assert host.run(f"{name}-none", ["/no/such"], 60) is None
    assert not host._file(f"{name}-slow").exists()


def test_a_driver_that_survives_sigkill_raises(host, impatient, name, stand_in, starts, monkeypatch):
    host.deploy(name, stand_in(IGNORES_SIGTERM), {})
    until(starts)
    call = impatient.rpc.call

    def ignore_signals(method, *arguments):
        return None if method == "signalProcess" else call(method, *arguments)

    monkeypatch.setattr(impatient, "run", lambda *_: None)
    monkeypatch.setattr(impatient.rpc, "call", ignore_signals)
    with pytest.raises(TimeoutError, match="lives on after SIGKILL"):
        impatient.stop(name, 0.1)


@pytest.mark.parametrize("code", [None, 0, 2])
def test_stopping_a_driver_that_is_not_alive_only_removes_its_program(host, name, code):
    if code is not None:
        host.deploy(name, [sys.executable, "-c", f"raise SystemExit({code})"], {})
        until(lambda: not host.inspect(name).alive)
    state_before = host.inspect(name)
    assert host.stop(name, 60) == state_before
    assert not host._file(name).exists()


def test_the_last_lines_are_readable_after_the_end(host, name):
    code = "import sys; print(*range(100), sep='\\n', flush=True); print('last: é 😀', file=sys.stderr); sys.exit(2)"
    host.deploy(name, [sys.executable, "-X", "utf8", "-c", code], {})
    until(lambda: host.inspect(name).state == "failed")
    assert host.last_lines(name, 3) == ["98", "99", "last: é 😀"]
    assert len(host.last_lines(name, 1000)) == 101
    assert (host.programs / f"{name}.log").read_text(encoding="utf-8").endswith("last: é 😀\n"), "beside its program"
    assert host.last_lines(name, 0) == []


@pytest.mark.parametrize("shift", range(4))
def test_a_log_tail_that_begins_within_a_character_is_readable(host, name, shift):
    code = f"import os; os.write(1, ('😀' * 9000 + 'x' * {shift} + '\\nend\\n').encode()); raise SystemExit(2)"
    host.deploy(name, [sys.executable, "-c", code], {})
    until(lambda: host.inspect(name).state == "failed")
    faces, last = host.last_lines(name, 2)
    assert (len(faces) > 4000, faces[0], last) == (True, "😀", "end")


def test_binary_output_does_not_hide_the_text_after_it(host, name):
    code = (
        "import os; os.write(1, b'\\xff\\xfe' + b'x' * 9000 + "
        "b'\\n\\x1b[31mred\\x1b[0m\\x00\\x08\\xef\\xbf\\xbf <&>\\n'); raise SystemExit(2)"
    )
    host.deploy(name, [sys.executable, "-c", code], {})
    until(lambda: host.inspect(name).state == "failed")
    assert host.last_lines(name, 1) == ["red <&>"]
    noise = "import os; os.write(1, b'\\xff' * 9000); raise SystemExit(2)"
    host.deploy(name, [sys.executable, "-c", noise], {})
    until(lambda: host.inspect(name).state == "failed")
    assert host.last_lines(name, 1) == [], "all is noise"


def test_an_unknown_driver_has_no_lines(host):
    assert host.last_lines("nobody", 5) == []


def visible_text(error: BaseException) -> str:
    """All text of an error that a log could show, with its causes and contexts."""
    parts = []
    while error is not None:
        parts += [repr(error), *traceback.format_exception(error), repr(vars(error))]
        error = error.__cause__ or error.__context__
    return "".join(parts)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def operations(host):
    yield lambda: host.deploy("flights", ["x"], {})
    yield lambda: host.inspect("flights")
    yield lambda: host.stop("flights", 1)
    yield lambda: host.last_lines("flights", 1)


def test_an_unreachable_host_is_reported_without_the_password(tmp_path):
    port = free_port()
    host = SupervisorHost(f"http://tailrace:s3cret@127.0.0.1:{port}", tmp_path)
    for operation in operations(host):
        with pytest.raises(DriverHostDown, match=rf"http://127.0.0.1:{port}: .*refused") as failure:
            operation()
        assert "right would be: a driver host that runs there" in str(failure.value)
        assert "s3cret" not in visible_text(failure.value)
    assert isinstance(failure.value, OSError)
    assert "s3cret" not in repr(host) + repr(vars(host)) + repr(vars(host.rpc)["url"])


def test_a_wrong_password_is_reported_and_not_shown(host):
    wrong_host = SupervisorHost(host.rpc.url, host.programs, "tailrace", "s3cret")
    with pytest.raises(DriverHostDown, match=r"401 Unauthorized\n.*user and password") as failure:
        wrong_host.inspect("flights")
    assert "s3cret" not in visible_text(failure.value)


def test_the_url_may_hold_user_and_password(embedded, name):
    access = embedded.access
    quoted = "".join(f"%{ord(character):02x}" for character in access.password)
    url = f"http://{access.user}:{quoted}@{access.host}:{access.port}"
    assert SupervisorHost(url, embedded.host.programs).inspect(name).state == "absent"


def test_a_silent_host_times_out(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host = SupervisorHost(f"http://127.0.0.1:{listener.getsockname()[1]}", tmp_path, timeout_s=0.2)
        for operation in operations(host):
            with pytest.raises(DriverHostDown, match="timed out"):
                operation()


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"hello", b""])
def test_a_server_that_is_not_supervisord_is_reported(tmp_path, body):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = SupervisorHost(f"http://127.0.0.1:{server.server_port}", tmp_path)
        with pytest.raises(DriverHostDown, match="no supervisord"):
            host.inspect("flights")
        server.shutdown()


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:9001", "ftp://u:s3cret@h:1", "http://", "http://u:s3cret/x@h:1", "http://u:s3cret@h:99999"]
)
def test_an_invalid_url_is_refused_and_not_shown(tmp_path, url):
    with pytest.raises(Refused, match="http://USER:PASSWORD@HOST:PORT") as refusal:
        SupervisorHost(url, tmp_path)
    assert "s3cret" not in "".join(map(str, refusal.value.problems))


def test_a_directory_that_supervisord_does_not_read_is_refused(embedded, host, tmp_path):
    elsewhere = SupervisorHost(host.rpc.url, tmp_path, "tailrace", embedded.access.password)
    with pytest.raises(Refused, match=rf"does not read {tmp_path}/\*.conf"):
        elsewhere.deploy("flights", ["x"], {})
    nowhere = SupervisorHost(host.rpc.url, tmp_path / "none", "tailrace", embedded.access.password)
    with pytest.raises(Refused, match="it is no directory"):
        nowhere.deploy("flights", ["x"], {})
    assert not Path(tmp_path / "none").exists()


def test_a_host_behind_tls_is_asked_encrypted_and_only_with_a_trusted_certificate(tmp_path, monkeypatch):
    """As with deploy/nginx.conf: TLS ends before supervisord."""
    certificate, key = tmp_path / "host.crt", tmp_path / "host.key"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
    request += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(request, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False)
    server.register_function(lambda: {"statename": "RUNNING"}, "supervisor.getState")
    server.handle_error = lambda *_: None
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        host = SupervisorHost(f"https://u:s3cret@localhost:{server.server_address[1]}", tmp_path)
        with pytest.raises(DriverHostDown, match="certificate") as failure:
            host.rpc.call("getState")
        assert "s3cret" not in str(failure.value)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert host.rpc.call("getState") == {"statename": "RUNNING"}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
