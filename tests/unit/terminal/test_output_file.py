"""`--output`: regular files whole or not at all; devices, pipes and links are written through, and stay."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.suite.waiting import PATIENCE_S
from tailrace.ground.errors import Refused
from tailrace.terminal.answers import write_answers
from tailrace.terminal.output_file import open_output

INCLUDE = Path(__file__).parents[3] / "include"
BIG = b"x" * 300_000  # more than a pipe holds


def write(output: Path, content: bytes = BIG) -> None:
    with open_output(output) as file:
        file.write(content)


def test_a_regular_file_is_replaced_as_a_whole_and_keeps_its_permissions(tmp_path):
    output = tmp_path / "out"
    output.write_bytes(b"before")
    output.chmod(0o600)
    with pytest.raises(TypeError), open_output(output) as file:
        file.writelines([b"half", None])
    assert output.read_bytes() == b"before"
    write(output)
    assert (output.read_bytes(), stat.S_IMODE(output.stat().st_mode)) == (BIG, 0o600)
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_the_file_that_it_names_is_written(tmp_path, exists):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "real.csv", tmp_path / "link.csv"
    if exists:
        target.write_bytes(b"before")
    (tmp_path / "middle").symlink_to("there/real.csv")
    link.symlink_to(tmp_path / "middle")
    write(link)
    assert link.is_symlink()
    assert (tmp_path / "middle").is_symlink()
    assert target.read_bytes() == BIG


@pytest.mark.needs("long")
@pytest.mark.parametrize("form", ["csv", "jsonl", "table", "parquet"])
def test_a_pipe_is_written_through_in_every_form(tmp_path, form):
    pipe, answers = tmp_path / "pipe", pa.table({"value": pa.array(range(30_000), pa.float64())})
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_answers(answers, ["value"], form, pipe, 0)
    reader.join(PATIENCE_S)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    write_answers(answers, ["value"], form, tmp_path / "file", 0)
    assert read == [(tmp_path / "file").read_bytes()]
    if form == "parquet":
        assert pq.read_table(pa.BufferReader(read[0])).equals(answers)


def test_a_device_is_written_through(tmp_path):
    """A pseudoterminal, by a link to it: no device of the machine's."""
    master, slave = os.openpty()
    (tmp_path / "device").symlink_to(os.ttyname(slave))
    write(tmp_path / "device", b"to the device\n")
    assert os.read(master, 100).strip() == b"to the device"
    assert Path(os.ttyname(slave)).is_char_device()


@pytest.mark.needs("process")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_by_its_path_goes_on_where_it_is(tmp_path, name):
    """Through links below the test's own directory: nothing on this machine is at risk."""
    (tmp_path / "link").symlink_to(name)
    code = (
        "from pathlib import Path; from tailrace.terminal.output_file import open_output\n"
        f"print('before')\nwith open_output(Path({str(tmp_path / 'link')!r})) as file: file.write(b'content\\n')\n"
        "print('after')"
    )
    environment = os.environ | {"PYTHONPATH": str(INCLUDE)}
    with (tmp_path / "file").open("a") as file:
        file.write("first\n")
        file.flush()
        subprocess.run([sys.executable, "-c", code], stdout=file, env=environment, check=True, timeout=PATIENCE_S)
    assert (tmp_path / "file").read_text() == "first\nbefore\ncontent\nafter\n"
    piped = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment, check=True, timeout=PATIENCE_S
    )
    assert piped.stdout == b"before\ncontent\nafter\n"


def test_what_can_be_no_output_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "lost").symlink_to("nowhere/file")
    (tmp_path / "file").touch()
    cases = {
        tmp_path: "it is a directory",
        tmp_path / "loop": "links name each other",
        tmp_path / "lost": "there is no directory",
        tmp_path / "none" / "file": "there is no directory",
        tmp_path / "file" / "below": "there is no directory",
        Path("/dev/fd/999"): "can't be written: Bad file descriptor",
    }
    for output, wrong in cases.items():
        with pytest.raises(Refused, match=wrong):
            write(output)


READ_BY_NOBODY = """
import sys
from tailrace.cli import commands
from tailrace.terminal import screen

def app():
    import rich.console
    help_s = rich.console.Console().print  # the help is printed by typer's console
    print_line = {"print": print, "console": screen.out.print, "help": help_s}[sys.argv[1]]
    for _ in range(100_000):
        print_line("x" * 100)

typed = commands.app
typed.command("print")(app)
typed.command("console")(app)
typed.command("help")(app)
commands.main()
"""


@pytest.mark.needs("process")
@pytest.mark.parametrize("how", ["print", "console", "help"])
def test_a_reader_that_goes_away_ends_the_command_quietly(how):
    environment = os.environ | {"PYTHONPATH": str(INCLUDE)}
    with subprocess.Popen(
        [sys.executable, "-c", READ_BY_NOBODY, how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.stderr.read(), process.wait(PATIENCE_S)) == (b"", 141)


@pytest.mark.needs("process")
def test_a_full_disk_below_standard_output_is_a_failure():
    code = "from tailrace.cli import commands\ncommands.app = lambda **_: print('x')\ncommands.main()"
    with Path("/dev/full").open("w") as full:  # it is opened for writing, which changes nothing of it
        process = subprocess.run(
            [sys.executable, "-c", code],
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(INCLUDE)},
            check=False,
            timeout=PATIENCE_S,
        )
    assert process.returncode == 1
    assert b"No space left on device" in process.stderr
