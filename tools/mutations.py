"""Mutation checks: take each guard out of a copy of the tree, and see a quick test go red without it.

    python tools/mutations.py [WORD…]

With words, only the guards whose names have one of them; exit code 2 if none has. Exit code 1 if the tests are red with
all guards in place, if a guard's tests stay green without it, or if its text is gone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from guards import MUTATIONS, Mutation

ROOT = Path(__file__).resolve().parents[1]
_PARTS = ("include", "tests", "samples", "spark_apps", "dags", "plugins", "pyproject.toml", "README.md")
_TIMEOUT_S = 600  # more than a broker may take to start
_FAILED = 1  # pytest's exit code for tests that ran and failed; others tell of errors of the call


def check(mutation: Mutation, tree: Path) -> str | None:
    """Return what is wrong with a guard's tests; None where they go red without it."""
    file = tree / "include" / "tailrace" / mutation.file
    whole = file.read_text()
    if whole.count(mutation.text) != 1:
        return f"{mutation.file} has its text {whole.count(mutation.text)} times, and not once"
    try:
        file.write_text(whole.replace(mutation.text, mutation.replacement))
        done = run_tests(mutation.tests, tree)
    except subprocess.TimeoutExpired:
        return f"its tests did not end within {_TIMEOUT_S} s"
    finally:
        file.write_text(whole)
    if done.returncode == _FAILED and re.search(
        r"^(\d+ \w+, )*\d+ (failed|error)", done.stdout, re.MULTILINE
    ):  # a missing pytest exits alike
        return None
    return f"pytest ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}"


def run_tests(tests: Iterable[str], tree: Path, timeout_s: float = _TIMEOUT_S) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(str(tree / name) for name in ("include", "tests"))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def main(words: list[str]) -> int:
    """Check all guards, or those with one of some words; returns the exit code."""
    chosen = [one for one in MUTATIONS if not words or any(word in one.guard for word in words)]
    if not chosen:
        print(f"no guard has one of these words: {' '.join(words)}")
        print("    right would be: words of the names in tools/guards")
        return 2
    with tempfile.TemporaryDirectory(prefix="mutations-") as directory:
        tree = Path(directory)
        for name in _PARTS:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, tree / name)
        tests = sorted({test for mutation in chosen for test in mutation.tests})
        whole = run_tests(tests, tree, 5 * _TIMEOUT_S)
        if whole.returncode:
            print(f"the tests are not green with all guards in place:\n{whole.stdout[-3000:]}")
            return 1
        wrong = 0
        for mutation in chosen:
            started = time.monotonic()
            problem = check(mutation, tree)
            wrong += problem is not None
            verdict = "red" if problem is None else f"NOT RED: {problem}"
            print(f"{mutation.guard}: {verdict} ({time.monotonic() - started:.0f} s)", flush=True)
    print(f"{len(chosen)} guards, {wrong} of them without a test that goes red")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
