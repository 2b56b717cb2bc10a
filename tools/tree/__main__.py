"""`make tree`: what is to mend in the tree; with MEND=1 it first writes the texts that follow from code.

    PYTHONPATH=include:tests:tools python -m tree [--mend]

Exit code 1 if something is to mend.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

from tailrace.ground.errors import Problem
from tree import derived_texts, guard_texts, language, lengths, measurements, pages, reference

ROOT = Path(__file__).resolve().parents[2]
RULES: tuple[Callable[[Path], Iterable[Problem]], ...] = (
    lengths.long_files,
    lengths.long_readme,
    language.docstrings,
    language.exceptions,
    guard_texts.guards,
    pages.environment_variables,
    pages.exit_codes,
    pages.extras,
    pages.python_names,
    pages.glossaries,
    pages.paths,
    pages.links,
    reference.sections,
    reference.commands,
    measurements.results,
    measurements.contradictions,
    measurements.gains,
    derived_texts.stale,
)


def main(arguments: list[str]) -> int:
    """Mend, if asked to; print what is left to mend, and return the exit code."""
    parser = argparse.ArgumentParser(prog="tree", description="says what is to mend in the form of the tree")
    parser.add_argument("--mend", action="store_true", help="write the texts that follow from code")
    if parser.parse_args(arguments).mend:
        for file in derived_texts.mend(ROOT):
            print(f"written: {file}")
    problems = list(chain.from_iterable(rule(ROOT) for rule in RULES))
    for problem in problems:
        print(problem)
    print(f"{len(RULES)} rules, {len(problems)} places to mend")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
