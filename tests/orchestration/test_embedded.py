"""The embedded supervisord: one a directory, out of Ctrl-C's reach, found again, and gone with all that it started."""

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

from processes import is_dead, until
from tailrace.drivers import embedded as module
from tailrace.drivers import fence
from tailrace.drivers.driver_host import DriverHostDown
from tailrace.drivers.embedded import EmbeddedHost
from tailrace.drivers.supervisor import SupervisorHost
from tailrace.ground.errors import Refused

# A driver that does not listen, with a child in its group and one, as PySpark's daemon, in a group of its own.
FAMILY = """
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


@pytest.fixture
def family(tmp_path):
    """The command of a family, and the pids of those that it has started."""
    script, file = tmp_path / "family.py", tmp_path / "pids"
    script.write_text(FAMILY)

    def pids() -> list[int]:
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    return [sys.executable, str(script), str(file)], pids


def pid_of(host: SupervisorHost) -> int:
    return host.rpc.call("getPID")


def test_it_answers_whom_it_gave_the_password(embedded):
    host = embedded.start()
    assert host.look("flights").state == "absent"
    access = embedded.access
    assert (access.host, access.user, len(access.password)) == ("127.0.0.1", "tailrace", 32)
    for stranger in (
        SupervisorHost(host.rpc.url, host.programs),
        SupervisorHost(host.rpc.url, host.programs, "tailrace"),
    ):
        with pytest.raises(DriverHostDown, match="401"):
            stranger.look("flights")


def test_only_its_user_reads_the_password(embedded):
    host = embedded.start()
    assert stat.S_IMODE((embedded.directory / "supervisord.conf").stat().st_mode) == 0o600
    assert embedded.access.password not in repr(embedded.access) + repr(embedded) + repr(host)
    server = psutil.Process(pid_of(host))
    assert embedded.access.password not in " ".join([*server.cmdline(), *server.environ().values()])
    others = [file for file in embedded.directory.iterdir() if file.is_file() and file.name != "supervisord.conf"]
    assert others
    assert not any(embedded.access.password in file.read_text() for file in others)


def test_its_files_and_those_of_its_drivers_are_for_this_user_alone(embedded):
    """Whatever the umask of who starts it; who deploys to it writes a lock, by an umask of his own."""
    code = "open('written', 'w').close(); open('written_too', 'w').close(); import time; time.sleep(600)"
    before = os.umask(0o022)
    try:
        host = embedded.start()
        os.umask(module.UMASK)
        host.deploy("flights", [sys.executable, "-c", code], {})
    finally:
        os.umask(before)
    until((embedded.directory / "written_too").exists)
    until((embedded.directory / "programs" / "flights.log").exists)
    found = [embedded.directory, *embedded.directory.rglob("*")]
    assert len(found) > 6
    assert [str(file) for file in found if file.stat().st_mode & 0o077] == []


def test_it_listens_on_loopback_only(embedded):
    server = psutil.Process(pid_of(embedded.start()))
    assert [tuple(at.laddr) for at in server.net_connections() if at.status == psutil.CONN_LISTEN] == [
        ("127.0.0.1", embedded.access.port)
    ]


def test_two_have_passwords_and_ports_of_their_own(embedded, tmp_path):
    embedded.start()
    with EmbeddedHost(tmp_path / "another") as other:
        assert other.access.password != embedded.access.password
        assert other.access.port != embedded.access.port


def test_no_ctrl_c_reaches_it(embedded):
    pid = pid_of(embedded.start())
    assert os.getsid(pid) == pid != os.getsid(0)


def test_it_is_no_drivers_child(embedded, monkeypatch, family, tmp_path):
    """A fence for the driver that it was started from would take it along, with all its drivers."""
    monkeypatch.setenv(fence.MARK, fence.mark(tmp_path, "token"))
    host = embedded.start()
    command, pids = family
    host.deploy("flights", command, {})
    until(lambda: len(pids()) == 3)
    assert fence.fence(tmp_path, None) == []
    assert host.look("flights").alive


def test_a_second_start_finds_the_running_one(embedded, family):
    host = embedded.start()
    pid, access = pid_of(host), embedded.access
    command, pids = family
    driver = host.deploy("flights", command, {})
    again = EmbeddedHost(embedded.directory)
    assert pid_of(again.start()) == pid
    assert again.access == access
    assert again.host.look("flights").pid == driver.pid
    assert len(until(lambda: len(pids()) == 3 and pids())) == 3


def test_many_starts_at_once_start_one(tmp_path, embedded):
    script = (
        "import sys; from pathlib import Path; from tailrace.drivers.embedded import EmbeddedHost\n"
        "print(EmbeddedHost(Path(sys.argv[1])).start().rpc.call('getPID'))"
    )
    crowd = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "host")], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert len({process.communicate(timeout=60)[0] for process in crowd}) == 1
    assert [process.returncode for process in crowd] == [0] * 4


def test_it_outlives_who_started_it(embedded, family):
    command, pids = family
    script = (
        "import os, signal, sys; from pathlib import Path; from tailrace.drivers.embedded import EmbeddedHost\n"
        "print(EmbeddedHost(Path(sys.argv[1])).start().deploy('flights', sys.argv[2:], {}).pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, str(embedded.directory), *command], capture_output=True, text=True, check=False
    )
    assert told.returncode == -signal.SIGKILL
    assert embedded.start().look("flights").pid == int(told.stdout)
    until(lambda: len(pids()) == 3)
    embedded.stop(0.2)
    assert all(map(is_dead, pids()))


def test_its_end_leaves_nothing_and_nothing_comes_back(embedded, family):
    command, pids = family
    with embedded:
        server = pid_of(embedded.host)
        embedded.host.deploy("flights", command, {})
        embedded.host.deploy("crashing", [sys.executable, "-c", "raise SystemExit(1)"], {})
        until(lambda: len(pids()) == 3)
        embedded.stop(0.2)
        assert all(map(is_dead, [server, *pids()]))
        assert embedded._ours() == []
        with pytest.raises(DriverHostDown):
            embedded.host.look("flights")
    host = embedded.start()
    assert (host.look("flights").state, host.look("crashing").state) == ("absent", "absent")


def test_its_end_gives_drivers_time_to_go(embedded, tmp_path):
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (open(sys.argv[1], 'a').write(sys.argv[2]), sys.exit(0)))\n"
        "open(sys.argv[3], 'w').close(); time.sleep(600)"
    )
    (tmp_path / "polite.py").write_text(code)
    host = embedded.start()
    for name in "ab":
        words = [str(tmp_path / "goodbyes"), name, str(tmp_path / f"ready_{name}")]
        host.deploy(name, [sys.executable, str(tmp_path / "polite.py"), *words], {})
    until(lambda: all((tmp_path / f"ready_{name}").exists() for name in "ab"))
    began = time.monotonic()
    embedded.stop(60)
    assert time.monotonic() - began < 30
    assert sorted((tmp_path / "goodbyes").read_text()) == ["a", "b"]


def test_one_that_ignores_its_end_does_not_keep_another_from_hearing_of_it(embedded, family, tmp_path):
    """supervisord ends its programs one by one, the last by name first."""
    command, pids = family
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (open(sys.argv[1], 'w').close(), sys.exit(0)))\n"
        "open(sys.argv[2], 'w').close(); time.sleep(600)"
    )
    (tmp_path / "polite.py").write_text(code)
    host = embedded.start()
    words = [str(tmp_path / "goodbye"), str(tmp_path / "ready")]
    for name, what in (("a", [sys.executable, str(tmp_path / "polite.py"), *words]), ("b", command)):
        host.deploy(name, what, {})
    until(lambda: len(pids()) == 3 and (tmp_path / "ready").exists())
    embedded.stop(2)
    assert (tmp_path / "goodbye").exists()


def test_one_that_hangs_is_ended_too(embedded, family, monkeypatch):
    command, pids = family
    host = embedded.start()
    host.deploy("flights", command, {})
    until(lambda: len(pids()) == 3)
    server = pid_of(host)
    monkeypatch.setattr(module, "_PATIENCE_S", 0.3)
    os.kill(server, signal.SIGSTOP)
    embedded.stop(0.2)
    assert all(map(is_dead, [server, *pids()]))


def test_one_whose_directory_was_removed_is_ended_too(embedded, family):
    command, pids = family
    server = pid_of(embedded.start())
    embedded.host.deploy("flights", command, {})
    until(lambda: len(pids()) == 3)
    shutil.rmtree(embedded.directory)
    assert pid_of(embedded.start()) != server
    assert all(map(is_dead, [server, *pids()]))
    shutil.rmtree(embedded.directory)
    embedded.stop(0.2)
    assert embedded._ours() == []


def test_a_ctrl_c_while_it_starts_leaves_nothing(embedded, monkeypatch):
    def interrupt(_):
        assert embedded._ours()
        raise KeyboardInterrupt

    monkeypatch.setattr(embedded, "_answers", interrupt)
    with pytest.raises(KeyboardInterrupt):
        embedded.start()
    assert embedded._ours() == []


def test_a_ctrl_c_while_it_ends_leaves_nothing(embedded, family, monkeypatch):
    command, pids = family
    embedded.start().deploy("flights", command, {})
    until(lambda: len(pids()) == 3)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(psutil.Process, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        embedded.stop()
    assert all(map(is_dead, pids()))
    assert embedded._ours() == []


def test_another_object_can_end_it(embedded, family):
    command, pids = family
    embedded.start().deploy("flights", command, {})
    until(lambda: len(pids()) == 3)
    EmbeddedHost(embedded.directory).stop(0.2)
    assert all(map(is_dead, pids()))
    assert embedded._ours() == []


def test_what_was_never_started_is_stopped_without_ado(embedded):
    embedded.stop()
    assert not embedded.directory.exists()
    with pytest.raises(Refused, match="none was started there"):
        _ = embedded.access


def test_after_a_kill_its_drivers_are_back_once(embedded, family):
    """The drivers of a supervisord that was killed live on, and no other one can watch them."""
    command, pids = family
    host, access = embedded.start(), embedded.access
    host.deploy("flights", command, {})
    host.deploy("stopped", [sys.executable, "-c", "import time; time.sleep(600)"], {})
    host.stop("stopped", 10)
    until(lambda: len(pids()) == 3)
    os.kill(pid_of(host), signal.SIGKILL)
    embedded._child.wait()
    assert not any(map(is_dead, pids()))
    again = EmbeddedHost(embedded.directory)
    host = again.start()
    assert all(map(is_dead, pids()[:3]))
    until(lambda: len(pids()) == 6)
    assert host.look("flights").pid in pids()[3:]
    assert host.look("stopped").state == "absent", "it was stopped by request"
    assert again.access == access, "a connection to it must not be written anew"


def test_a_port_that_was_taken_meanwhile_is_given_up(embedded):
    embedded.start()
    port = embedded.access.port
    embedded.stop()
    with socket.create_server(("127.0.0.1", port)):
        embedded.start()
        assert embedded.access.port != port


def test_where_no_port_stays_free_it_is_told(embedded, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(module, "free_port", lambda: taken.getsockname()[1])
        monkeypatch.setattr(module, "_PROBE_S", 0.1)
        with pytest.raises(DriverHostDown, match="no port of loopback stays free"):
            embedded.start()


def test_one_that_cannot_start_says_why(embedded):
    (embedded.directory / "programs").mkdir(parents=True)
    (embedded.directory / "programs" / "broken.conf").write_text("[program:broken]\n")
    with pytest.raises(DriverHostDown, match=r"(?s)exit code 2.*does not specify a command"):
        embedded.start()


def test_one_that_does_not_answer_in_time_is_ended(embedded, monkeypatch):
    monkeypatch.setattr(embedded, "_answers", lambda _: False)
    with pytest.raises(DriverHostDown, match=r"no answer in 0\.5 s"):
        embedded.start(0.5)
    assert embedded._ours() == []


def test_while_it_shuts_down_it_can_not_be_used(embedded, family):
    command, pids = family
    host = embedded.start()
    host.deploy("flights", command, {})
    until(lambda: len(pids()) == 3)
    host.rpc.call("shutdown")
    with pytest.raises(DriverHostDown, match="it is shutting down"):
        host.look("flights")


@pytest.mark.parametrize("name", ["a%b", "a[b]", "a*", "a?"])
def test_a_path_that_supervisord_takes_for_its_own_is_refused(tmp_path, name):
    with pytest.raises(Refused, match="a path without them"):
        EmbeddedHost(tmp_path / name)


def test_a_path_with_blanks_and_other_signs_will_do(tmp_path, family):
    command, pids = family
    with EmbeddedHost(tmp_path / 'it\'s a ;path #1, "é"') as embedded:
        embedded.host.deploy("flights", command, {})
        until(lambda: len(pids()) == 3)
        embedded.stop(0.2)
    assert all(map(is_dead, pids()))
