"""`make touched`: run the tests that what has changed since a commit can turn red, and say why each is chosen.

    PYTHONPATH=include:tests:tools python -m touched [--since COMMIT] [--processes P] [--list]

The exit code is pytest's; 0 if nothing has changed, and 2 if git does not know the commit.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from guards import read_guards
from tailrace.ground.errors import Refused
from touched.changes import base_of, changed_since
from touched.choice import Choice
from touched.imports import Imports
from touched.seconds import Seconds

ROOT = Path(__file__).resolve().parents[2]
_SHOWN = 5


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Choose the tests, say so, and run them unless they are only listed; return the exit code."""
    parser = argparse.ArgumentParser(prog="touched", description="runs the tests that a change can turn red")
    parser.add_argument("--since", metavar="COMMIT", help="what to compare with; by default where the branch left main")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many processes run tests")
    parser.add_argument("--list", action="store_true", help="print the tests of each reason, and run none")
    options = parser.parse_args(arguments)
    try:
        base = base_of(root, options.since)
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return refusal.exit_code
    changed = changed_since(root, base)
    if not changed:
        print(f"nothing has changed since {base}, so no test is touched")
        return 0
    imports = Imports(root, gone=[path for path in changed if not (root / path).exists()])
    choice = Choice(root, changed, imports, read_guards())
    print(report(choice, Seconds(root, imports.tests), options.processes, with_tests=options.list), flush=True)
    if options.list:
        return 0
    return run_tests(choice.tests, root, options.processes)


def run_tests(tests: list[str], root: Path, processes: int) -> int:
    """Run test files as `make test-all` does; return pytest's exit code."""
    command = [sys.executable, "-m", "pytest", "-n", str(processes), "--dist", "loadgroup", "--no-loadscope-reorder"]
    with subprocess.Popen([*command, *tests], cwd=root) as run:
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest, which ends its servers first
        try:
            return run.wait()
        finally:
            signal.signal(signal.SIGINT, handler)


def report(choice: Choice, seconds: Seconds, processes: int, *, with_tests: bool) -> str:
    """Return the lines about a choice: each reason, most tests first, and what all the tests take."""
    others = f" and {len(choice.changed) - _SHOWN} more" if len(choice.changed) > _SHOWN else ""
    lines = [f"changed: {', '.join(choice.changed[:_SHOWN])}{others}"]
    for reason, tests in sorted(choice.reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(f"{len(tests):5}  {reason}")
        lines += [f"           {test}" for test in sorted(tests) if with_tests]
    minutes = max(1, round(seconds.of(choice.tests, processes) / 60))
    lines.append(f"{len(choice.tests)} test files, some {minutes} min by tests/durations.json on {processes} processes")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
