"""Draw queries, values and records by one seed after another, until the time is over, and hold them to the oracles.

    python tools/fuzz.py [--seconds S] [--seed FIRST] [--processes N] [PATH…]

Each seed draws as many examples as the gate, of the properties of values: whole queries in sections and SQL text,
expressions, named aggregates, rankings, lists of keys, each type in each place, and what a reader chooses. Their
oracles are DuckDB, Spark's golden values and plain Python. The first seed with a wrong answer ends the run with exit
code 1, and pytest's report says how to draw it again.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROPERTIES = (
    *(
        f"tests/properties/test_{name}.py"
        for name in ("whole_queries", "expressions", "named_aggregates", "scores", "lists_of_keys", "types_in_places")
    ),
    "tests/unit/api/test_chosen.py",
)


def main(words: list[str] | None = None) -> int:
    """Draw by seeds; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600, help="no seed begins after these")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("paths", nargs="*", default=PROPERTIES, metavar="PATH", help="other tests")
    called = parser.parse_args(words)
    began_s, seed = time.monotonic(), called.seed
    while seed == called.seed or time.monotonic() - began_s < called.seconds:
        options = ["-q", "-x", "--gate", "-n", str(called.processes), f"--hypothesis-seed={seed}"]
        command = [sys.executable, "-m", "pytest", *options, *called.paths]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{done.stdout}{done.stderr}\nseed {seed} is not green: make fuzz SEED={seed}")
            return 1
        said = re.findall(r"^\d+ passed.*$", done.stdout, re.MULTILINE)
        print(f"seed {seed}: {said[-1]}", flush=True)
        seed += 1
    print(f"{seed - called.seed} seeds, none wrong")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
