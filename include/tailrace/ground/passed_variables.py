"""Environment variables, some secret, that are passed to a driver on another machine in a file.

A platform shows the environment of its processes in logs, so the environment only has the file's name.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

VARIABLE = "TAILRACE_PASSED"
"""The variable that names the file, relative to the driver's working directory."""

NAME = "tailrace_passed.json"


def restore() -> None:
    """Set the variables that were passed to this process, if there are any."""
    file = os.environ.pop(VARIABLE, None)
    if file is not None:
        os.environ.update(json.loads(Path(file).read_text()))
