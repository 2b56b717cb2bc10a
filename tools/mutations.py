"""Mutation checks: take each guard out of a copy of the tree, and see a quick test go red without it.

    python tools/mutations.py [--processes N] [--after LOG] [WORD…]

With words, only the guards whose file, texts or tests have one of them; exit code 2 if none has. `--after` goes on
where another run ended: the guards that its output has as held are left out, and counted. The gate holds a guard if one
of its tests in the gate goes red; or else the whole suite alone does, whose tests are green with the guard in place.
Exit code 1 if the gate is red with all guards in place, if a guard's tests stay green without it, or if its text is
gone.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from subprocess import PIPE

from guards import Guard, read_guards

ROOT = Path(__file__).resolve().parents[1]
_TIMEOUT_S = 600  # more than a broker may take to start
_PATIENCE_S = "60"  # without their guards many tests wait in vain
_HANG_S = 120  # more than a test of the gate takes, and less than a loop that never ends
_FAILED = 1  # pytest's exit code for tests that ran and failed; others tell of errors of the call
_PASSED, _NONE_IN_GATE = 0, 5  # guards of some words may have no test in the gate
GATE, SUITE = "red in the gate", "red in the whole suite alone"


def check(guard: Guard, tree: Path) -> str:
    """Return which tests hold a guard, `GATE` or `SUITE`, or else what is wrong with its tests."""
    file = tree / guard.path
    whole = file.read_text()
    if whole.count(guard.text) != 1:
        return f"{guard.path} has its text {whole.count(guard.text)} times, and not once"
    try:
        file.write_text(whole.replace(guard.text, guard.replacement))
        with suppress(subprocess.TimeoutExpired):  # without the guard a process may not end; the suite has more time
            if _is_red(run_tests(guard.tests, tree, "--gate", f"--timeout={_HANG_S}", timeout_s=_TIMEOUT_S / 2)):
                return GATE
        without = run_tests(guard.tests, tree)
        file.write_text(whole)
        if not _is_red(without):
            return f"pytest ended with {without.returncode}: {(without.stdout + without.stderr)[-500:]}"
        red = _red_with_guards(guard.tests, tree)
        return f"red with the guard in place, too: {red}" if red else SUITE
    except subprocess.TimeoutExpired:
        return f"its tests did not end within {_TIMEOUT_S} s"
    finally:
        file.write_text(whole)


@cache
def _red_with_guards(tests: tuple[str, ...], tree: Path) -> str:
    """Return the end of what tests print that are red with all guards in place; an empty text if they are green."""
    done = run_tests(tests, tree)
    return done.stdout[-500:] if done.returncode else ""


def _is_red(done: subprocess.CompletedProcess[str]) -> bool:
    """Return whether a test failed: a missing pytest exits alike."""
    counts = re.search(r"^(\d+ \w+, )*\d+ (failed|error)", done.stdout, re.MULTILINE)
    return done.returncode == _FAILED and counts is not None


def run_tests(
    tests: Iterable[str], tree: Path, *options: str, timeout_s: float = _TIMEOUT_S
) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(str(tree / name) for name in ("include", "tests", "tools"))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *options, *tests],
        cwd=tree,
        env={"TAILRACE_PATIENCE_S": _PATIENCE_S} | os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def copy_tree(tree: Path) -> Path:
    """Copy the files of the work tree, but for those that git ignores, into a new directory, and return it."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, stdout=PIPE, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():  # a file that was deleted is still listed
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    return tree


def check_all(chosen: Sequence[Guard], trees: Sequence[Path]) -> Counter[str]:
    """Check guards, as many at once as there are copies of the tree; return how many tests of each kind hold them."""
    free: SimpleQueue[Path] = SimpleQueue()
    for tree in trees:
        free.put(tree)

    def check_one(guard: Guard) -> str:
        tree, started_s = free.get(), time.monotonic()
        try:
            verdict = check(guard, tree)
        finally:
            free.put(tree)
        said = verdict if verdict in (GATE, SUITE) else f"NOT RED: {verdict}"
        print(f"{guard.name}: {said} ({time.monotonic() - started_s:.0f} s)", flush=True)
        return verdict

    with ThreadPoolExecutor(len(trees)) as threads:
        return Counter(threads.map(check_one, chosen))


def held_before(log: Path) -> dict[str, str]:
    """Return what holds each guard by the output of an earlier run, by the guard's name."""
    return dict(re.findall(rf"^(.+): ({GATE}|{SUITE}) \(\d+ s\)$", log.read_text(), re.MULTILINE))


def _gate_problem(chosen: Sequence[Guard], tree: Path, processes: int) -> str | None:
    """Run the guards' tests of the gate, with all guards in place; return the end of their output if one is red."""
    tests = sorted({test for guard in chosen for test in guard.tests})
    several = ["-n", str(processes), "--dist", "loadgroup", "--no-loadscope-reorder"]
    done = run_tests(tests, tree, "--gate", *several, timeout_s=10 * _TIMEOUT_S)
    return None if done.returncode in (_PASSED, _NONE_IN_GATE) else done.stdout[-3000:]


def main(words: list[str] | None = None) -> int:
    """Check all guards, or those with one of some words; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="so many guards at once")
    parser.add_argument("--after", type=Path, metavar="LOG", help="the output of an earlier run, to go on after it")
    parser.add_argument("words", nargs="*", metavar="WORD", help="only guards with one of these")
    called = parser.parse_args(words)
    chosen = [one for one in read_guards() if not called.words or any(map(one.has, called.words))]
    if not chosen:
        print(f"no guard has one of these words: {' '.join(called.words)}")
        print("    right would be: words of tools/guards.tsv")
        return 2
    before = {} if called.after is None else held_before(called.after)
    held = Counter(before[one.name] for one in chosen if one.name in before)
    left = [one for one in chosen if one.name not in before]
    with tempfile.TemporaryDirectory(prefix="mutations-") as directory:
        trees = [copy_tree(Path(directory) / str(number)) for number in range(min(called.processes, len(left)))]
        if trees:
            if (red := _gate_problem(left, trees[0], called.processes)) is not None:
                print(f"the gate's tests are not green with all guards in place:\n{red}")
                return 1
            held += check_all(left, trees)
    no_test = len(chosen) - held[GATE] - held[SUITE]
    print(f"{len(chosen)} guards: the gate holds {held[GATE]}, the whole suite alone {held[SUITE]}, no test {no_test}")
    return 1 if no_test else 0


if __name__ == "__main__":
    sys.exit(main())
