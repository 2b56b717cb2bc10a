"""Paths under which deltalake can keep a table."""

from __future__ import annotations

import re
from pathlib import Path

from tailrace.ground.errors import refuse

_UNFIT = re.compile(r"[\x00-\x1f\x7f%\[\]\\^|\ud800-\udfff]")  # found by trying each


def require_fit(where: str, path: Path) -> None:
    """Refuse a path with a character that deltalake fails at, or takes for another one."""
    if found := _UNFIT.search(str(path)):
        character = found[0] if found[0].isprintable() else ascii(found[0])
        raise refuse(where, f"Delta's paths can't hold a {character}", "a path without one")
