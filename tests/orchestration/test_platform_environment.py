"""The environment of an embedded platform: its file for shells, and the connections that it takes from one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.embedded.platform_environment import write_environment

pytestmark = pytest.mark.needs("process")


def test_in_a_shell_of_the_platform_a_backfill_is_tried_again_and_other_commands_are_airflows(
    tmp_path: Path,
) -> None:
    programs, package = tmp_path / "bin", tmp_path / "airflow"
    for directory in (programs, package):
        directory.mkdir()
    text = (
        "Could not import graphviz. Rendering graph to the graphical format will not be possible. \\nYou might need it."
    )
    warns = f"import warnings; warnings.warn('{text}', UserWarning); warnings.warn('another one', UserWarning)"
    own = f'#!/bin/sh\necho "airflow\'s own $*"\n{sys.executable} -c "{warns}"\n'
    (programs / "airflow").write_text(own)
    (programs / "airflow").chmod(0o755)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        "import pathlib, sys\n"
        "locked = pathlib.Path('locked')\n"
        "if locked.exists():\n"
        "    locked.unlink()\n"
        "    sys.exit('database is locked')\n"
        "print('python -m airflow', sys.argv[1:])\n"
    )
    (tmp_path / "locked").touch()
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "NAME": "it's"}
    write_environment(tmp_path, variables)
    script = f'. {tmp_path}/env.sh; echo "$NAME"; airflow dags list; airflow backfill create --dag-id "a b"'
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "it's",
        "airflow's own dags list",
        "python -m airflow ['backfill', 'create', '--dag-id', 'a b']",
    ]
    assert "SQLite database is locked; trying again in 1 s" in done.stderr
    assert "graphviz" not in done.stderr, "which only draws DAGs"
    assert "UserWarning: another one" in done.stderr
    assert subprocess.run([programs / "airflow"], capture_output=True, text=True, check=True).stderr.count("graphviz")
