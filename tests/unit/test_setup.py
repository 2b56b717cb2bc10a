"""`make setup` prints what it does, and nothing when the packages are up to date."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs("process")

SCRIPT = Path(__file__).parents[2] / "tools" / "setup.sh"


@pytest.fixture
def setup(tmp_path):
    """Run the script in a checkout with stand-ins for uv and Java; return its output."""
    (tmp_path / "tools").mkdir()
    shutil.copy(SCRIPT, tmp_path / "tools")
    (tmp_path / "uv.lock").touch()
    (tmp_path / "pyproject.toml").touch()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (
        ("uv", 'mkdir -p .venv; echo "$@" > .venv/asked'),
        ("java", "echo 'openjdk version \"17.0.9\"'"),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)

    def run() -> str:
        variables = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
        environment = variables | {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHON": sys.executable}
        process = subprocess.run(
            ["sh", "tools/setup.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return process.stdout + process.stderr

    return run


def python(checkout: Path, text: str) -> None:
    """Have a shell script in the place of the environment's Python."""
    file = checkout / ".venv" / "bin" / "python"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def test_setup_reports_an_installation_and_is_silent_while_it_is_up_to_date(setup, tmp_path):
    python(tmp_path, "exit 0")
    first, second, third, last = setup().splitlines()
    assert "installing the packages" in first
    assert "archiving" in second
    assert "compiling" in third
    assert last.startswith("setup: done")
    assert setup() == ""
    os.utime(tmp_path / "uv.lock", (2**32, 2**32))  # a newer lock
    assert "installing the packages" in setup()


def test_setup_makes_an_archive_of_sparks_classes_and_ends_well_without(setup, tmp_path):
    assert "Why: .venv/class-archive.log" in setup(), "there is no Python in this environment"
    assert setup() == "", "what failed once would cost each command its time"
    made = tmp_path / ".venv" / "made"
    python(tmp_path, f'echo "$@" >> {made}')
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"17.0.10\"'\n")
    output = setup()
    assert "archiving" in output
    assert "class-archive.log" not in output
    assert made.read_text() == "-m tailrace.spark.make_class_archive\n-m tailrace.kernels.compile\n"


def test_setup_compiles_the_kernels_whose_source_is_newer_and_ends_well_without(setup, tmp_path):
    assert "Why: .venv/kernels.log" in setup(), "there is no Python in this environment"
    source = tmp_path / "include" / "tailrace" / "kernels" / "loop.py"
    source.parent.mkdir(parents=True)
    source.touch()
    os.utime(source, (2**31, 2**31))
    made = tmp_path / ".venv" / "made"
    python(tmp_path, f'echo "$@" >> {made}')
    output = setup()
    assert "compiling" in output
    assert "kernels.log" not in output
    assert made.read_text() == "-m tailrace.kernels.compile\n"


def test_setup_keeps_an_environment_of_the_same_python_and_makes_one_of_another_anew(setup, tmp_path):
    setup()
    words = (tmp_path / ".venv" / "asked").read_text().split()
    assert "--compile-bytecode" in words
    assert words[-2:] == ["--python", sys.executable]
    here = f'[ "$1" != -m ] || exit 0; exec "{sys.executable}" "$@"'
    for text, expected in ((here, ".venv/bin/python"), ("echo 3.9", sys.executable)):
        python(tmp_path, text)
        os.utime(tmp_path / "uv.lock", (2**32, 2**32))  # a newer lock
        setup()
        assert (tmp_path / ".venv" / "asked").read_text().split()[-2:] == ["--python", expected]


def test_clean_leaves_the_tables():
    command = ["make", "--dry-run", "clean"]
    done = subprocess.run(command, cwd=SCRIPT.parents[1], capture_output=True, text=True, check=True)
    assert "rm -rf .venv" in done.stdout
    assert "warehouse" not in done.stdout
