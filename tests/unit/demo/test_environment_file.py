"""The file with the demonstration's environment for shells."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

from tailrace.demo.walkthrough import _write_environment


def test_in_a_shell_of_the_demonstration_a_backfill_is_tried_again_and_other_commands_are_airflows(
    tmp_path: Path,
) -> None:
    programs, package = tmp_path / "bin", tmp_path / "airflow"
    for directory in (programs, package):
        directory.mkdir()
    (programs / "airflow").write_text('#!/bin/sh\necho "airflow\'s own $*"\n')
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
    _write_environment(tmp_path, SimpleNamespace(environment=variables))  # type: ignore[arg-type]
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
