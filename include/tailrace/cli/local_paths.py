"""Checks of local paths in arguments and options of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from tailrace.ground.errors import refuse
from tailrace.ground.files.atomic_files import is_url


def local_path(parameter: typer.CallbackParam, value: Any) -> Any:
    """Refuse a URL in place of a path, as it would name directories below the current one."""
    for path in value if isinstance(value, list) else [value]:
        if isinstance(path, Path) and is_url(path):
            slashes = ":///" if str(path).startswith("file:/") else "://"
            url = str(path).replace(":/", slashes, 1)  # the path has merged its slashes
            raise refuse(f"{parameter.opts[0]} {url}", "it is a URL", "a file or a directory of this machine")
    return value
