"""The driver host against a real supervisord: one driver a name, whatever happens to those who ask for it."""

from __future__ import annotations

import http.server
import itertools
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from xmlrpc.client import Fault

import psutil
import pytest
from filelock import FileLock

from processes import command, is_dead, until
from tailrace.drivers.driver_host import Driver, DriverHost, DriverHostDown
from tailrace.drivers.embedded import EmbeddedHost
from tailrace.drivers.supervisor import SupervisorHost, _driver
from tailrace.ground.errors import Refused

NUMBERS = itertools.count()
# What the stand-ins do: note their start in a file, then this or that.
NOTE = """
import json, os, signal, sys, time
with open(sys.argv[1], "a") as notes:
    print(json.dumps([os.getpid(), sys.argv[2:], dict(os.environ)]), file=notes)
"""
SLEEP = f"{NOTE}time.sleep(600)"
STUBBORN = f"""
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.fork()
{SLEEP}
"""
POLITE = f"""
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
{SLEEP}
"""
NASTY = [
    *("a b", "it's", 'say "x"', "'q'", '"q"', 'it\'s "both"', "a,b=c", "", " lead", "trail ", "\t"),
    *("100%", "%%", "%s", "%(here)s", "%%(here)s", "%(ENV_HOME)s", "'%(here)s"),
    *(";", "#", "x ;y", "x #y", "x\t;y", "\u2003;z", "' ;'", "'#"),
    *("$HOME", "`id`", "*", "~", "back\\slash", "\\n", "\\0101", "é ü € 😀"),
]
VICTIM = """
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
def notes(tmp_path):
    file = tmp_path / "notes"

    def read() -> list[tuple[int, list[str], dict[str, str]]]:
        return [tuple(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []

    read.file = str(file)
    yield read
    for pid, *_ in read():
        with suppress(psutil.NoSuchProcess):
            left = psutil.Process(pid)
            if str(file) in command(left):  # or its number is another's by now
                left.kill()


@pytest.fixture
def python(notes, tmp_path):
    """The command of a stand-in that notes its starts."""

    def python(code, *words):
        script = tmp_path / f"stand_in_{next(NUMBERS)}.py"
        script.write_text(code)
        return [sys.executable, str(script), notes.file, *words]

    return python


def victim(embedded, name, when, point, command) -> subprocess.CompletedProcess:
    """Another process that deploys, and dies on the way."""
    host, words = embedded.host, [when, point]
    words += [host.rpc.url, str(host.programs), embedded.access.password, name, *command]
    return subprocess.run([sys.executable, "-c", VICTIM, *words], capture_output=True, text=True, check=False)


def test_it_is_a_driver_host(host):
    checked: DriverHost = host  # mypy does not read the tests; the names are what counts here
    assert all(callable(getattr(checked, verb)) for verb in ("deploy", "look", "stop", "run", "last_lines"))


def test_a_driver_is_created_once_and_stays(host, name, python, notes):
    assert (host.look(name).state, host.look(name).alive) == ("absent", False)
    driver = host.deploy(name, python(SLEEP), {"A": "1"})
    assert driver.alive
    assert driver.pid == until(notes)[0][0]
    until(lambda: host.look(name).state == "running")
    conf = host._file(name).read_text()
    again = host.deploy(name, python(SLEEP, "changed"), {"A": "2"})
    assert (again.state, again.pid, again.exit_code) == ("running", driver.pid, None)
    assert host._file(name).read_text() == conf
    assert len(notes()) == 1


def test_many_who_deploy_at_once_get_one_driver(embedded, host, name, python, notes):
    words = [host.rpc.url, str(host.programs), embedded.access.password, name]
    waiting = f"import sys\nsys.stdin.readline()\n{VICTIM}"
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", waiting, "", "", *words, *python(SLEEP, str(variant))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for variant in range(5)
    ]
    for process in crowd:
        process.stdin.write("go\n")
        process.stdin.flush()
    pids = {process.communicate(timeout=60)[0] for process in crowd}
    [(pid, [variant], _)] = until(notes)
    assert pids == {f"{pid}\n"}
    assert f"'{variant}'\n" in host._file(name).read_text(), "the configuration is another one than what runs"


def test_who_deploys_or_stops_waits_for_the_others(embedded, name, python):
    impatient = SupervisorHost(
        embedded.host.rpc.url, embedded.host.programs, "tailrace", embedded.access.password, lock_s=0.2
    )
    with FileLock(impatient.programs / ".lock"):
        with pytest.raises(TimeoutError, match="others have deployed or stopped"):
            impatient.deploy(name, python(SLEEP), {})
        with pytest.raises(TimeoutError, match="others have deployed or stopped"):
            impatient.stop(name, 1)
    assert impatient.look(name).state == "absent"
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
def test_killed_on_the_way_the_next_deploy_goes_on(embedded, host, name, python, notes, before, when, point):
    if before == "failed":
        host.deploy(name, [sys.executable, "-c", "raise SystemExit(2)"], {})
        until(lambda: host.look(name).state == "failed")
    text = host._file(name).read_text() if before == "failed" else None
    assert victim(embedded, name, when, point, python(SLEEP, "first")).returncode == -signal.SIGKILL
    if point == "write":
        assert (host._file(name).read_text() if host._file(name).exists() else None) == text, "it is half written"
    driver = host.deploy(name, python(SLEEP, "second"), {})
    [(pid, [variant], _)] = until(notes)
    assert driver.pid == pid
    assert variant == ("first" if (when, point) == ("after", "addProcessGroup") else "second")
    assert host.deploy(name, python(SLEEP, "third"), {}).pid == pid
    assert len(notes()) == 1


@pytest.mark.parametrize("code", [0, 2, 3, 126, 127, 130])
def test_what_ended_is_told_and_started_anew(host, name, python, notes, code):
    host.deploy(name, python(f"{NOTE}sys.exit({code})"), {"A": "1"})
    driver = until(lambda: (seen := host.look(name)).state in ("ended", "failed") and seen)
    assert (driver.state, driver.exit_code, driver.pid) == ("failed" if code else "ended", code, None)
    assert driver.detail == f"ended with exit code {code}"
    anew = host.deploy(name, python(SLEEP, "changed"), {"A": "2"})
    assert anew.alive
    until(lambda: len(notes()) == 2)
    assert (notes()[1][0], notes()[1][1], notes()[1][2]["A"]) == (anew.pid, ["changed"], "2")


def test_one_that_was_removed_is_started_anew(host, name, python, notes):
    host.deploy(name, python(POLITE), {})
    until(notes)
    host.rpc.call("stopProcess", name)
    assert (host.look(name).state, host.look(name).exit_code) == ("ended", 0)
    host.rpc.call("removeProcessGroup", name)
    assert host.look(name).state == "absent"
    assert host.deploy(name, python(SLEEP), {}).alive
    until(lambda: len(notes()) == 2)


def test_a_killed_driver_is_back_and_never_seems_dead(host, name, python, notes):
    pid = host.deploy(name, python(SLEEP), {}).pid
    until(notes)
    os.kill(pid, signal.SIGKILL)

    def back():
        driver = host.look(name)
        assert driver.alive, driver
        return driver.pid not in (None, pid)

    until(back)
    until(lambda: len(notes()) == 2)


def test_between_a_crash_and_its_restart_it_is_starting(host, name, python, notes):
    host.deploy(name, python(f"{NOTE}sys.exit(1)"), {})

    def between():
        driver = host.look(name)
        assert driver.alive, driver
        return driver.detail == "ended with exit code 1, to be restarted" and driver

    driver = until(between)
    assert (driver.state, driver.exit_code) == ("starting", None)
    text = host._file(name).read_text()
    host.deploy(name, python(SLEEP), {})
    assert host._file(name).read_text() == text, "it was taken for dead"
    assert host.stop(name, 5).state == "ended"
    starts = len(notes())
    host.deploy(name, python(SLEEP), {})
    until(lambda: len(notes()) == starts + 1)


def test_a_command_that_is_not_there_fails(host, name):
    driver = host.deploy(name, ["/no/such/program"], {})
    assert (driver.state, driver.detail) == ("starting", "can't find command '/no/such/program'")
    driver = until(lambda: (seen := host.look(name)).state == "failed" and seen, 30)
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
def test_states_in_the_words_of_the_interface(statename, start, code, state, exit_code):
    info = {"statename": statename, "start": start, "exitstatus": code, "pid": 0, "spawnerr": "", "description": "…"}
    driver = _driver("flights", info)
    assert (driver.state, driver.exit_code, driver.pid) == (state, exit_code, None)


def test_words_and_values_come_out_as_they_went_in(host, name, python, notes):
    environment = {f"V{number}": value for number, value in enumerate(NASTY)}
    host.deploy(name, python(SLEEP, *NASTY), environment)
    [(pid, words, found)] = until(notes)
    assert words == NASTY
    assert {variable: found[variable] for variable in environment} == environment
    assert host.look(name).pid == pid, "a shell stands before it"
    assert stat.S_IMODE(host._file(name).stat().st_mode) == 0o600


def test_no_secret_is_seen_in_a_command(host, name, python, notes):
    host.deploy(name, python(SLEEP), {"PASSWORD": 'it\'s "this"'})
    until(notes)
    assert "this" not in host._file(name).read_text().partition("environment=")[0]


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\0b", "\udcff"])
def test_more_than_a_line_is_refused_unseen(host, name, text):
    for words, environment in ((["x", f"secret{text}"], {}), (["x"], {"V": f"secret{text}"})):
        with pytest.raises(Refused, match="a single line of text") as refused:
            host.deploy(name, words, environment)
        assert "secret" not in str(refused.value)
    assert not host._file(name).exists()


@pytest.mark.parametrize("variable", ["", "1A", "A-B", "A B", "A=B", "A\n", "Ä"])
def test_what_no_shell_can_set_is_refused(host, name, variable):
    with pytest.raises(Refused, match="letters, digits and _"):
        host.deploy(name, ["x"], {variable: "1"})


def test_no_command_is_refused(host, name):
    with pytest.raises(Refused, match="it has no command"):
        host.deploy(name, [], {})


@pytest.mark.parametrize("wrong", ["", "A", "1a", "a-b", "../a", "a b", "a:b", "a" * 64, "a\n", "ä", "a%s"])
def test_a_wrong_name_is_refused_by_every_verb(host, wrong):
    files = sorted(host.programs.iterdir())
    for verb in (
        lambda: host.deploy(wrong, ["x"], {}),
        lambda: host.look(wrong),
        lambda: host.stop(wrong, 0),
        lambda: host.last_lines(wrong, 1),
    ):
        with pytest.raises(Refused, match="it can't be called so"):
            verb()
    assert sorted(host.programs.iterdir()) == files


def test_one_that_listens_is_stopped_in_good_time(host, name, python, notes):
    pid = host.deploy(name, python(POLITE), {}).pid
    until(notes)
    driver = host.stop(name, 60)
    assert (driver.state, driver.exit_code, driver.detail) == ("ended", 0, "stopped by request, ended with exit code 0")
    assert is_dead(pid)
    assert not host._file(name).exists(), "it would be back with supervisord's next start"


def test_one_that_does_not_listen_is_killed_with_its_group_after_the_wait(host, name, python, notes):
    leader = host.deploy(name, python(STUBBORN), {}).pid
    until(lambda: len(notes()) == 2)
    pids, began = {pid for pid, *_ in notes()}, time.monotonic()
    assert leader in pids
    stopping = threading.Thread(target=host.stop, args=(name, 2.0))
    stopping.start()
    until(lambda: host.look(name).state == "stopping")
    assert host.deploy(name, python(SLEEP), {}).state == "stopping", "it is alive, so it stays"
    until(lambda: is_dead(leader))
    assert time.monotonic() - began >= 2
    stopping.join()
    assert all(map(is_dead, pids))
    assert (host.look(name).state, host.look(name).exit_code) == ("ended", -1)
    known = [info["name"] for info in host.rpc.call("getAllProcessInfo")]
    assert not [left for left in (*known, *os.listdir(host.programs)) if left.startswith(f"{name}-")]


def test_its_whole_group_is_asked_to_end(host, name, python, notes):
    code = f"import os, signal, sys\nif os.fork():\n    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n{SLEEP}"
    host.deploy(name, python(code), {})
    until(lambda: len(notes()) == 2)
    assert host.stop(name, 60).exit_code == 0
    until(lambda: all(is_dead(pid) for pid, *_ in notes()))


def test_one_between_a_crash_and_its_restart_is_stopped(host, name, python, notes, monkeypatch):
    """A stop that comes there is refused by supervisord, which starts it again a moment later."""
    pid = host.deploy(name, python(POLITE), {}).pid
    until(notes)
    call, refusals = host.rpc.call, iter([Fault(70, "NOT_RUNNING")])

    def not_at_first(method, *arguments):
        if method == "stopProcess" and (refusal := next(refusals, None)):
            raise refusal
        return call(method, *arguments)

    monkeypatch.setattr(host.rpc, "call", not_at_first)
    assert host.stop(name, 60).state == "ended"
    assert is_dead(pid)


def test_one_that_cannot_be_stopped_is_told(host, name, python, notes, monkeypatch):
    host.deploy(name, python(SLEEP), {})
    until(notes)
    call = host.rpc.call

    def never(method, *arguments):
        if method == "stopProcess":
            raise Fault(30, "FAILED: for a reason")
        return call(method, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(host.rpc, "call", never)
        patch.setattr("tailrace.drivers.supervisor._SOON_S", 0.2)
        with pytest.raises(TimeoutError, match="for a reason"):
            host.stop(name, 60)
    assert host.look(name).state == "running"


@pytest.mark.parametrize("state", ["absent", "failed"])
def test_one_that_someone_else_starts_meanwhile_stays(host, name, python, notes, monkeypatch, state):
    """`supervisorctl` takes no lock."""
    pid = host.deploy(name, python(SLEEP), {}).pid
    until(notes)
    look, first = host.look, iter([Driver(name, state, None, None, "")])
    monkeypatch.setattr(host, "look", lambda name: next(first, None) or look(name))
    assert host.deploy(name, python(SLEEP), {}).pid == pid
    assert len(notes()) == 1


def test_supervisord_neither_kills_before_the_wait_is_over_nor_fills_the_disk(host, name, python):
    host.deploy(name, python(SLEEP), {})
    [program] = [info for info in host.rpc.call("getAllConfigInfo") if info["name"] == name]
    assert program["stopwaitsecs"] >= 3600
    assert 0 < program["stdout_logfile_maxbytes"] * (program["stdout_logfile_backups"] + 1) <= 100 << 20


def test_one_that_is_stopped_by_a_signal_is_killed(host, name, python, notes):
    pid = host.deploy(name, python(POLITE), {}).pid
    until(notes)
    os.kill(pid, signal.SIGSTOP)
    assert host.stop(name, 0.5).state == "ended"
    assert is_dead(pid)


def test_beside_a_broken_configuration_one_is_killed_all_the_same(host, name, python, notes):
    pid = host.deploy(name, python(STUBBORN), {}).pid
    until(notes)
    broken = host.programs / "zz_broken.conf"
    broken.write_text("[program:zz_broken]\nenvironment=A=%(secret)s\n")
    try:
        assert host.stop(name, 0.2).state == "ended"
        assert is_dead(pid)
        with pytest.raises(Refused, match="can't read its configuration in section 'program:zz_broken'") as refused:
            host.deploy(name, python(SLEEP), {})
        assert "secret" not in str(refused.value)
    finally:
        broken.unlink()


@pytest.mark.parametrize("code", [0, 7])
def test_another_command_is_run_to_its_end_and_forgotten(host, name, notes, python, code):
    command = python(f"{NOTE}sys.exit({code})", *NASTY)
    for again in (1, 2):
        assert host.run(f"{name}-once", command, 60) == code
        assert len(notes()) == again
    assert notes()[0][1] == NASTY
    assert host.rpc.ask("getProcessInfo", f"{name}-once") is None
    assert not host._file(f"{name}-once").exists()


def test_another_command_that_takes_too_long_or_is_not_there_is_told(host, name):
    assert host.run(f"{name}-slow", [sys.executable, "-c", "import time; time.sleep(3)"], 0.2) is None
    assert host.run(f"{name}-none", ["/no/such"], 60) is None
    assert not host._file(f"{name}-slow").exists()


def test_one_that_does_not_die_is_told(host, name, python, notes, monkeypatch):
    host.deploy(name, python(STUBBORN), {})
    until(notes)
    monkeypatch.setattr(host, "_kill", lambda *_: None)
    monkeypatch.setattr("tailrace.drivers.supervisor._SOON_S", 0.1)
    with pytest.raises(TimeoutError, match="lives on after SIGKILL"):
        host.stop(name, 0.1)


@pytest.mark.parametrize("code", [None, 0, 2])
def test_what_does_not_live_is_stopped_without_ado(host, name, code):
    if code is not None:
        host.deploy(name, [sys.executable, "-c", f"raise SystemExit({code})"], {})
        until(lambda: not host.look(name).alive)
    before = host.look(name)
    assert host.stop(name, 60) == before
    assert not host._file(name).exists()


def test_the_last_lines_are_kept_after_the_end(host, name):
    code = "import sys; print(*range(100), sep='\\n', flush=True); print('last: é 😀', file=sys.stderr); sys.exit(2)"
    host.deploy(name, [sys.executable, "-X", "utf8", "-c", code], {})
    until(lambda: host.look(name).state == "failed")
    assert host.last_lines(name, 3) == ["98", "99", "last: é 😀"]
    assert len(host.last_lines(name, 1000)) == 101
    assert (host.programs / f"{name}.log").read_text(encoding="utf-8").endswith("last: é 😀\n"), "beside its program"
    assert host.last_lines(name, 0) == []


@pytest.mark.parametrize("shift", range(4))
def test_a_tail_that_begins_within_a_character_is_read(host, name, shift):
    code = f"import os; os.write(1, ('😀' * 9000 + 'x' * {shift} + '\\nend\\n').encode()); raise SystemExit(2)"
    host.deploy(name, [sys.executable, "-c", code], {})
    until(lambda: host.look(name).state == "failed")
    faces, end = host.last_lines(name, 2)
    assert (len(faces) > 4000, faces[0], end) == (True, "😀", "end")


def test_what_is_no_text_does_not_hide_what_comes_after_it(host, name):
    code = (
        "import os; os.write(1, b'\\xff\\xfe' + b'x' * 9000 + "
        "b'\\n\\x1b[31mred\\x1b[0m\\x00\\x08\\xef\\xbf\\xbf <&>\\n'); raise SystemExit(2)"
    )
    host.deploy(name, [sys.executable, "-c", code], {})
    until(lambda: host.look(name).state == "failed")
    assert host.last_lines(name, 1) == ["red <&>"]
    noise = "import os; os.write(1, b'\\xff' * 9000); raise SystemExit(2)"
    host.deploy(name, [sys.executable, "-c", noise], {})
    until(lambda: host.look(name).state == "failed")
    assert host.last_lines(name, 1) == [], "all is noise"


def test_one_that_is_not_known_has_no_lines(host):
    assert host.last_lines("nobody", 5) == []


def shown(error: BaseException) -> str:
    """All that a log could show of an error, also of those that it hides."""
    parts = []
    while error is not None:
        parts += [repr(error), *traceback.format_exception(error), repr(vars(error))]
        error = error.__cause__ or error.__context__
    return "".join(parts)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def verbs(host):
    yield lambda: host.deploy("flights", ["x"], {})
    yield lambda: host.look("flights")
    yield lambda: host.stop("flights", 1)
    yield lambda: host.last_lines("flights", 1)


def test_one_that_is_not_there_is_told_without_the_password(tmp_path):
    port = free_port()
    host = SupervisorHost(f"http://tailrace:s3cret@127.0.0.1:{port}", tmp_path)
    for verb in verbs(host):
        with pytest.raises(DriverHostDown, match=rf"http://127.0.0.1:{port}: .*refused") as down:
            verb()
        assert "right would be: a supervisord that runs there" in str(down.value)
        assert "s3cret" not in shown(down.value)
    assert isinstance(down.value, OSError)
    assert "s3cret" not in repr(host) + repr(vars(host)) + repr(vars(host.rpc)["url"])


def test_a_wrong_password_is_told_and_not_shown(host):
    wrong = SupervisorHost(host.rpc.url, host.programs, "tailrace", "s3cret")
    with pytest.raises(DriverHostDown, match=r"401 Unauthorized\n.*user and password") as down:
        wrong.look("flights")
    assert "s3cret" not in shown(down.value)


def test_the_url_may_hold_user_and_password(embedded, name):
    access = embedded.access
    quoted = "".join(f"%{ord(character):02x}" for character in access.password)
    url = f"http://{access.user}:{quoted}@{access.host}:{access.port}"
    assert SupervisorHost(url, embedded.host.programs).look(name).state == "absent"


def test_one_that_says_nothing_is_given_up(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = SupervisorHost(f"http://127.0.0.1:{silent.getsockname()[1]}", tmp_path, timeout_s=0.2)
        for verb in verbs(host):
            with pytest.raises(DriverHostDown, match="timed out"):
                verb()


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"hello", b""])
def test_one_that_is_no_supervisord_is_told(tmp_path, body):
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
            host.look("flights")
        server.shutdown()


@pytest.mark.parametrize(
    "url", ["", "127.0.0.1:9001", "https://u:s3cret@h:1", "http://", "http://u:s3cret/x@h:1", "http://u:s3cret@h:99999"]
)
def test_a_url_that_cannot_be_read_is_refused_unseen(tmp_path, url):
    with pytest.raises(Refused, match="http://USER:PASSWORD@HOST:PORT") as refused:
        SupervisorHost(url, tmp_path)
    assert "s3cret" not in "".join(map(str, refused.value.problems))


def test_programs_that_supervisord_does_not_read_are_told(embedded, host, tmp_path):
    elsewhere = SupervisorHost(host.rpc.url, tmp_path, "tailrace", embedded.access.password)
    with pytest.raises(Refused, match=rf"does not read {tmp_path}/\*.conf"):
        elsewhere.deploy("flights", ["x"], {})
    nowhere = SupervisorHost(host.rpc.url, tmp_path / "none", "tailrace", embedded.access.password)
    with pytest.raises(Refused, match="it is no directory"):
        nowhere.deploy("flights", ["x"], {})
    assert not Path(tmp_path / "none").exists()
