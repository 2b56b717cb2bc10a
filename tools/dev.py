"""The commands of a checkout: the demonstration, the benchmarks, and the makers of streams.

    .venv/bin/python tools/dev.py demo --bounded

Exit codes are those of `tailrace`.
"""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.cli import start

if __name__ == "__main__":
    tools = str(Path(__file__).resolve().parent)  # the processes that a command starts import its packages, too
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [tools, os.environ.get("PYTHONPATH")]))
    start.main("checkout_commands")
