"""The embedded supervisord: one per directory, reusable by later processes, stopped with all of its drivers.

Tests that only look at a running one share it (`running`). The others have one of their own: they start, stop, kill or
stop answering it, leave a driver that ignores SIGTERM behind, or look at what its start wrote.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

import psutil
import pytest

from kit.parts.browser import answers_to_browsers
from kit.parts.processes import is_dead
from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers import fence
from tailrace.drivers.driver_host import DriverHostDown
from tailrace.drivers.supervisor import SupervisorHost
from tailrace.embedded import embedded_processes as module
from tailrace.embedded.embedded_processes import EmbeddedHost
from tailrace.ground.errors import Refused

pytestmark = pytest.mark.needs("process")

# A driver that ignores SIGTERM: one child in its process group and one, as PySpark's daemon, in another group.
DRIVER_WITH_CHILDREN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
group, daemon = os.fork(), None
if group:
    daemon = os.fork()
    if not daemon:
        os.setpgid(0, 0)
with open(sys.argv[1], "a") as pids:
    print(os.getpid(), file=pids)
time.sleep(600)
"""


@pytest.fixture
def embedded(tmp_path):
    embedded = EmbeddedHost(tmp_path / "host")
    yield embedded
    embedded.stop(0)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with EmbeddedHost(tmp_path_factory.mktemp("running") / "host") as running:
        yield running


@pytest.fixture
def driver_with_children(tmp_path):
    """The command of a driver with two children, and a function that reads the pids of all processes it started."""
    script, pids_file = tmp_path / "family.py", tmp_path / "pids"
    script.write_text(DRIVER_WITH_CHILDREN)

    def pids() -> list[int]:
        return [int(line) for line in pids_file.read_text().split()] if pids_file.exists() else []

    return [sys.executable, str(script), str(pids_file)], pids


def pid_of(host: SupervisorHost) -> int:
    return host.rpc.call("getPID")


def test_the_host_answers_only_with_its_password(running):
    host = running.host
    assert host.inspect("flights").state == "absent"
    access = running.access
    assert (access.host, access.user, len(access.password)) == ("127.0.0.1", "tailrace", 32)
    for stranger in (
        SupervisorHost(host.rpc.url, host.programs),
        SupervisorHost(host.rpc.url, host.programs, "tailrace"),
    ):
        with pytest.raises(DriverHostDown, match="401"):
            stranger.inspect("flights")


def test_the_host_has_no_page_that_asks_for_its_password_shows_a_log_or_acts(running):
    host = running.host
    host.deploy("flights", [sys.executable, "-c", "import time; time.sleep(600)"], {})
    answers = answers_to_browsers(host.rpc.url, running.access.user, running.access.password)
    assert answers == {page: {404} for page in answers}
    assert host.inspect("flights").alive


def test_only_its_user_reads_the_password(running):
    host = running.host
    assert stat.S_IMODE((running.directory / "supervisord.conf").stat().st_mode) == 0o600
    assert running.access.password not in repr(running.access) + repr(running) + repr(host)
    server = psutil.Process(pid_of(host))
    assert running.access.password not in " ".join([*server.cmdline(), *server.environ().values()])
    other_files = [file for file in running.directory.iterdir() if file.is_file() and file.name != "supervisord.conf"]
    assert other_files
    assert not any(running.access.password in file.read_text() for file in other_files)


def test_files_of_the_host_and_its_drivers_are_private_to_the_user(embedded):
    """Whatever the umask of the starting process. Only a deploying process writes a file (a lock) by its own umask."""
    code = "open('written', 'w').close(); open('written_too', 'w').close(); import time; time.sleep(600)"
    saved_umask = os.umask(0o022)
    try:
        host = embedded.start()
        os.umask(module.UMASK)
        host.deploy("flights", [sys.executable, "-c", code], {})
    finally:
        os.umask(saved_umask)
    until((embedded.directory / "written_too").exists)
    until((embedded.directory / "programs" / "flights.log").exists)
    files = [embedded.directory, *embedded.directory.rglob("*")]
    assert len(files) > 6
    assert [str(file) for file in files if file.stat().st_mode & 0o077] == []


def test_a_copy_of_a_hosts_directory_neither_stops_the_original_nor_runs_its_drivers(embedded, tmp_path):
    """Else the copy's drivers would fence the original's, whose warehouse they name."""
    host = embedded.start()
    pid = host.deploy("flights", [sys.executable, "-c", "import time; time.sleep(600)"], {}).pid
    copies = [tmp_path / name for name in ("stopped", "started")]
    for copy in copies:
        shutil.copytree(embedded.directory, copy)
    EmbeddedHost(copies[0]).stop()
    with EmbeddedHost(copies[1]) as second:
        assert second.access.port != embedded.access.port
        assert second.access.password != embedded.access.password
        assert second.host.names() == []
        assert second.host.inspect("flights").state == "absent"
    driver = host.inspect("flights")
    assert (driver.state, driver.pid) == ("running", pid)


def test_the_host_listens_on_loopback_only(running):
    server = psutil.Process(pid_of(running.host))
    assert [
        tuple(connection.laddr) for connection in server.net_connections() if connection.status == psutil.CONN_LISTEN
    ] == [("127.0.0.1", running.access.port)]


def test_two_hosts_have_different_passwords_and_ports(running, tmp_path):
    with EmbeddedHost(tmp_path / "another") as other:
        assert other.access.password != running.access.password
        assert other.access.port != running.access.port


def test_the_host_has_a_session_of_its_own_out_of_ctrl_cs_reach(running):
    pid = pid_of(running.host)
    assert os.getsid(pid) == pid != os.getsid(0)


def test_the_host_does_not_carry_the_mark_of_the_driver_that_started_it(
    embedded, monkeypatch, driver_with_children, tmp_path
):
    """Else a fence of that driver would kill the host, with all of its drivers."""
    monkeypatch.setenv(fence.MARK, fence.mark(tmp_path, "token"))
    host = embedded.start()
    command, pids = driver_with_children
    host.deploy("flights", command, {})
    until(lambda: len(pids()) == 3)
    assert fence.fence(tmp_path, None) == []
    assert host.inspect("flights").alive


def test_start_is_idempotent(embedded, driver_with_children):
    host = embedded.start()
    pid, access = pid_of(host), embedded.access
    command, pids = driver_with_children
    driver = host.deploy("flights", command, {})
    second = EmbeddedHost(embedded.directory)
    assert pid_of(second.start()) == pid
    assert second.access == access
    assert second.host.inspect("flights").pid == driver.pid
    assert len(until(lambda: len(pids()) == 3 and pids())) == 3


def test_concurrent_starts_start_one_host(tmp_path, embedded):
    script = (
        "import sys; from pathlib import Path\n"
        "from tailrace.embedded.embedded_processes import EmbeddedHost\n"
        "print(EmbeddedHost(Path(sys.argv[1])).start().rpc.call('getPID'))"
    )
    starters = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "host")], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert len({process.communicate(timeout=PATIENCE_S)[0] for process in starters}) == 1
    assert [process.returncode for process in starters] == [0] * 4


def test_the_host_outlives_the_process_that_started_it(embedded, driver_with_children):
    command, pids = driver_with_children
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from tailrace.embedded.embedded_processes import EmbeddedHost\n"
        "print(EmbeddedHost(Path(sys.argv[1])).start().deploy('flights', sys.argv[2:], {}).pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    starter = subprocess.run(
        [sys.executable, "-c", script, str(embedded.directory), *command], capture_output=True, text=True, check=False
    )
    assert starter.returncode == -signal.SIGKILL
    assert embedded.start().inspect("flights").pid == int(starter.stdout)
    until(lambda: len(pids()) == 3)
    embedded.stop(0.2)
    assert all(map(is_dead, pids()))


def test_a_stop_leaves_no_process_and_no_program(embedded, driver_with_children):
    command, pids = driver_with_children
    with embedded:
        server = pid_of(embedded.host)
        embedded.host.deploy("flights", command, {})
        embedded.host.deploy("crashing", [sys.executable, "-c", "raise SystemExit(1)"], {})
        until(lambda: len(pids()) == 3)
        embedded.stop(0.2)
        assert all(map(is_dead, [server, *pids()]))
        assert embedded.processes() == []
        with pytest.raises(DriverHostDown):
            embedded.host.inspect("flights")
    host = embedded.start()
    assert (host.inspect("flights").state, host.inspect("crashing").state) == ("absent", "absent")


def test_a_stop_that_keeps_programs_leaves_no_process_and_the_next_start_starts_them(embedded, driver_with_children):
    command, pids = driver_with_children
    embedded.start().deploy("flights", command, {})
    until(lambda: len(pids()) == 3)
    access = embedded.access
    embedded.stop(0.2, keeps_programs=True)
    assert all(map(is_dead, pids()))
    assert embedded.processes() == []
    assert not embedded.keep(), "what keeps killed ones alive leaves it down"
    shutil.copytree(embedded.directory, copy := embedded.directory.with_name("copy"))
    with EmbeddedHost(copy) as other:
        assert other.host.names() == []
    host = embedded.start()
    until(lambda: len(pids()) == 6)
    assert host.inspect("flights").pid in pids()[3:]
    assert embedded.access == access


def test_a_stop_gives_drivers_time_to_exit(embedded, tmp_path):
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (open(sys.argv[1], 'a').write(sys.argv[2]), sys.exit(0)))\n"
        "open(sys.argv[3], 'w').close(); time.sleep(600)"
    )
    (tmp_path / "polite.py").write_text(code)
    host = embedded.start()
    for name in "ab":
        arguments = [str(tmp_path / "goodbyes"), name, str(tmp_path / f"ready_{name}")]
        host.deploy(name, [sys.executable, str(tmp_path / "polite.py"), *arguments], {})
    until(lambda: all((tmp_path / f"ready_{name}").exists() for name in "ab"))
    start_s = time.monotonic()
    embedded.stop(600)
    assert time.monotonic() - start_s < 300  # and not after the 600 s that drivers may take
    assert sorted((tmp_path / "goodbyes").read_text()) == ["a", "b"]


def test_a_driver_that_ignores_sigterm_does_not_delay_the_sigterm_of_another(embedded, driver_with_children, tmp_path):
    """supervisord by itself would stop its programs one at a time, in descending order of names."""
    command, pids = driver_with_children
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (open(sys.argv[1], 'w').close(), sys.exit(0)))\n"
        "open(sys.argv[2], 'w').close(); time.sleep(600)"
    )
    (tmp_path / "polite.py").write_text(code)
    host = embedded.start()
    arguments = [str(tmp_path / "goodbye"), str(tmp_path / "ready")]
    for name, driver_command in (("a", [sys.executable, str(tmp_path / "polite.py"), *arguments]), ("b", command)):
        host.deploy(name, driver_command, {})
    until(lambda: len(pids()) == 3 and (tmp_path / "ready").exists())
    embedded.stop(2)
    assert (tmp_path / "goodbye").exists()


def test_a_host_that_hangs_is_stopped_too(embedded, driver_with_children):
    command, pids = driver_with_children
    host = embedded.start()
    host.deploy("flights", command, {})
    until(lambda: len(pids()) == 3)
    server = pid_of(host)
    os.kill(server, signal.SIGSTOP)
    EmbeddedHost(embedded.directory, patience_s=0.3).stop(0.2)
    assert all(map(is_dead, [server, *pids()]))


def test_a_host_whose_directory_was_removed_is_stopped_too(embedded, driver_with_children):
    command, pids = driver_with_children
    server = pid_of(embedded.start())
    embedded.host.deploy("flights", command, {})
    until(lambda: len(pids()) == 3)
    shutil.rmtree(embedded.directory)
    assert pid_of(embedded.start()) != server
    assert all(map(is_dead, [server, *pids()]))
    shutil.rmtree(embedded.directory)
    embedded.stop(0.2)
    assert embedded.processes() == []


def test_a_ctrl_c_during_a_start_leaves_no_process(embedded, monkeypatch):
    def interrupt(*_):
        assert embedded.processes()
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "polls", interrupt)
    with pytest.raises(KeyboardInterrupt):
        embedded.start()
    assert embedded.processes() == []


def test_a_ctrl_c_during_a_stop_leaves_no_process(embedded, driver_with_children, monkeypatch):
    command, pids = driver_with_children
    embedded.start().deploy("flights", command, {})
    until(lambda: len(pids()) == 3)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(psutil.Process, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        embedded.stop()
    assert all(map(is_dead, pids()))
    assert embedded.processes() == []


def test_another_object_of_the_same_directory_can_stop_the_host(embedded, driver_with_children):
    command, pids = driver_with_children
    embedded.start().deploy("flights", command, {})
    until(lambda: len(pids()) == 3)
    EmbeddedHost(embedded.directory).stop(0.2)
    assert all(map(is_dead, pids()))
    assert embedded.processes() == []


def test_stopping_a_host_that_never_ran_does_nothing(embedded):
    embedded.stop()
    assert not embedded.directory.exists()
    with pytest.raises(Refused, match="none was started there"):
        _ = embedded.access


def test_after_a_kill_of_the_host_each_driver_is_restarted_exactly_once(embedded, driver_with_children):
    """The drivers of a killed supervisord live on, but no other one can watch them: so they are killed first."""
    command, pids = driver_with_children
    host, access = embedded.start(), embedded.access
    host.deploy("flights", command, {})
    host.deploy("stopped", [sys.executable, "-c", "import time; time.sleep(600)"], {})
    host.stop("stopped", 10)
    until(lambda: len(pids()) == 3)
    os.kill(pid_of(host), signal.SIGKILL)
    embedded._child.wait()
    assert not any(map(is_dead, pids()))
    second = EmbeddedHost(embedded.directory)
    host = second.start()
    assert all(map(is_dead, pids()[:3]))
    until(lambda: len(pids()) == 6)
    assert host.inspect("flights").pid in pids()[3:]
    assert host.inspect("stopped").state == "absent", "it was stopped by request"
    assert second.access == access, "a connection to it must not be written again"


def test_a_host_whose_port_was_taken_meanwhile_gets_another_one(embedded):
    embedded.start()
    port = embedded.access.port
    embedded.stop()
    with socket.create_server(("127.0.0.1", port)):
        embedded.start()
        assert embedded.access.port != port


def test_a_start_without_a_free_port_raises(embedded, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setattr(module, "free_port", lambda: listener.getsockname()[1])
        with pytest.raises(DriverHostDown, match="no port of loopback stays free"):
            EmbeddedHost(embedded.directory, probe_s=0.1).start()


def test_a_host_that_cannot_start_says_why(embedded):
    (embedded.directory / "programs").mkdir(parents=True)
    (embedded.directory / "programs" / "broken.conf").write_text("[program:broken]\n")
    with pytest.raises(DriverHostDown, match=r"(?s)exit code 2.*does not specify a command"):
        embedded.start()


def test_a_host_that_does_not_answer_in_time_is_stopped(embedded, monkeypatch):
    def stopped_polls(*_):
        for process in embedded.processes():
            process.suspend()
        yield 0.0

    monkeypatch.setattr(module, "polls", stopped_polls)
    with pytest.raises(DriverHostDown, match=r"no answer in 0\.5 s"):
        embedded.start(0.5)
    assert embedded.processes() == []


def test_a_host_that_shuts_down_counts_as_down(embedded, driver_with_children):
    command, pids = driver_with_children
    host = embedded.start()
    host.deploy("flights", command, {})
    until(lambda: len(pids()) == 3)
    host.rpc.call("shutdown")
    with pytest.raises(DriverHostDown, match="it is shutting down"):
        host.inspect("flights")


@pytest.mark.parametrize("name", ["a%b", "a[b]", "a*", "a?"])
def test_a_path_with_characters_that_supervisord_interprets_is_refused(tmp_path, name):
    with pytest.raises(Refused, match="a path without them"):
        EmbeddedHost(tmp_path / name)


def test_a_path_with_blanks_and_quotes_works(tmp_path, driver_with_children):
    command, pids = driver_with_children
    with EmbeddedHost(tmp_path / 'it\'s a ;path #1, "é"') as embedded:
        embedded.host.deploy("flights", command, {})
        until(lambda: len(pids()) == 3)
        embedded.stop(0.2)
    assert all(map(is_dead, pids()))
