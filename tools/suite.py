"""Run the whole suite by units, with a table of how each ended.

    python tools/suite.py [--only NAMES] [--again] [--seed SEED] [--processes N] [--durations]

The record is kept for the tree as it stands, changes that are not committed included (build/suite/TREE.json). So the
suite can run in parts, and go on where it was. A unit whose tests only waited for too long runs again alone, unless
more than five units are red. Exit code 1 if a unit that was to run is not green.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from kit.suite.balance import read_durations, record_durations
from kit.suite.parts import PARTS
from kit.suite.units import Record, Unit

ROOT = Path(__file__).resolve().parents[1]
CHANCES = 5
"""If more units than these are red, none runs again: then it is not the load of the machine."""
_RIGHT = f"a part ({', '.join(PARTS)}), a group of tests/durations.json, or a file or directory of tests, as tests/dags"
_EMPTY, _INTERRUPTED = 5, 130
_RAN = (0, 1)  # pytest's exit codes where all tests that were chosen have run


def tree_hash(root: Path) -> str:
    """Return git's hash of the files as they stand, without a trace in the index."""
    with tempfile.TemporaryDirectory() as directory:
        environment = os.environ | {"GIT_INDEX_FILE": str(Path(directory) / "index")}
        subprocess.run(["git", "add", "--all"], cwd=root, env=environment, check=True)
        written = subprocess.run(
            ["git", "write-tree"], cwd=root, env=environment, check=True, capture_output=True, text=True
        )
    return written.stdout.strip()


def unknown_names(only: str | None, record: Record) -> list[str]:
    """Return the names, separated by commas, that are no part, no unit and no directory of tests."""
    known = {*PARTS, *read_durations(), *record.all}
    return [name for name in (only or "").split(",") if name and name not in known and not (ROOT / name).exists()]


def second_chances(units: dict[str, Unit]) -> list[str]:
    """Return the names of the units that run again alone, of those that have just run."""
    red = {name: unit for name, unit in units.items() if unit.reasons}
    return [name for name, unit in red.items() if unit.is_waiting] if len(red) <= CHANCES else []


def table(record: Record) -> list[str]:
    """Return the lines of the table: what is not green first, then what took longest; what has not run, as a number."""
    ordered = sorted(record.units.items(), key=lambda entry: (entry[1].is_green, -entry[1].seconds))
    width = max((len(name) for name in record.units), default=0)
    lines = [f"{'unit':<{width}}  tests  seconds  verdict"]
    for name, unit in ordered:
        skipped = f", {unit.skipped} skipped" if unit.skipped else ""
        lines.append(f"{name:<{width}}  {unit.tests:>5}  {unit.seconds:>7.0f}  {unit.verdict}{skipped}")
        lines += [f"    {reason}" for reason in unit.reasons[:3]]
        lines += [f"    and {more} more" for more in [len(unit.reasons) - 3] if more > 0]
    unread = [tests for name, tests in record.all.items() if name not in record.units]
    green = sum(unit.is_green for unit in record.units.values())
    tests, seconds = sum(unit.ended for unit in record.units.values()), sum(u.seconds for u in record.units.values())
    lines.append(f"{green} of {len(record.units)} units green, {tests} tests in {seconds:.0f} s of work")
    if unread:
        lines.append(f"not run on this tree: {len(unread)} of {len(record.all)} units, with {sum(unread)} tests")
    return lines


def main(words: list[str] | None = None) -> int:
    """Run the units, those that waited in vain again, and print the table; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help=_RIGHT)
    parser.add_argument("--again", action="store_true", help="what is not green yet on this tree")
    parser.add_argument("--seed", help="draws other examples")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--durations", action="store_true", help="write the seconds into tests/durations.json")
    called = parser.parse_args(words)
    try:
        file = ROOT / "build" / "suite" / f"{tree_hash(ROOT)}.json"
    except (OSError, subprocess.CalledProcessError):  # git has said why, if it is there
        print(f"the record is named by git's hash of the tree, and {ROOT} is no git checkout")
        print("    right would be: a clone, and make test-all there")
        return 2
    if unknown := unknown_names(called.only, Record.read(file)):
        print(f"nothing is named {', '.join(unknown)}\n    right would be {_RIGHT}")
        return 2
    if not called.again and not called.only:
        file.unlink(missing_ok=True)
    seed = [f"--hypothesis-seed={called.seed}"] if called.seed else []
    chosen = [f"--only={called.only}"] if called.only else []
    code = _pytest(file, called.processes, *seed, *chosen, *(["--again"] if called.again else []))
    if code == _EMPTY:
        print("nothing is left to run: all of it is green on this tree" if called.again else "there is no test in it")
        return 0 if called.again else 2
    record = Record.read(file)
    if code in _RAN:
        for name in second_chances({name: record.units[name] for name in record.latest}):
            print(f"\n{name} waited in vain: it runs again alone", flush=True)
            _pytest(file, 1, *seed, f"--alone={name}")
    record = Record.read(file)
    ran = {name: record.units[name] for name in record.latest}
    print("", *table(record), f"the record: {file.relative_to(ROOT)}", sep="\n")
    if called.durations:
        record_durations(Counter({name: unit.seconds for name, unit in ran.items() if unit.is_green}))
    return (code if code not in _RAN else 0) or int(not all(unit.is_green for unit in ran.values()))


def _pytest(file: Path, processes: int, *options: str) -> int:
    command = [sys.executable, "-m", "pytest", "-n", str(processes), "--dist", "loadgroup", "--no-loadscope-reorder"]
    running = subprocess.Popen([*command, f"--units={file}", *options], cwd=ROOT)
    try:
        return running.wait()
    except KeyboardInterrupt:  # pytest has it, too, and ends its processes
        running.wait()
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
