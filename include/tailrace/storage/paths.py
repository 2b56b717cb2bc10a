"""The check that deltalake can store a table under a path."""

from __future__ import annotations

import re
from pathlib import Path

from tailrace.ground.errors import refuse
from tailrace.ground.locales import NAME_REMEDY, name_fault

_UNSUPPORTED_CHARACTER = re.compile(r"[\x00-\x1f\x7f%\[\]\\^|\ud800-\udfff]")  # determined by trying each character


def require_fit(where: str, path: Path | str) -> None:
    """Refuse a path with a character that deltalake rejects or misinterprets."""
    if match := _UNSUPPORTED_CHARACTER.search(str(path)):
        character = match[0] if match[0].isprintable() else ascii(match[0])
        raise refuse(where, f"Delta's paths can't hold a {character}", "a path without one")
    if (fault := name_fault(path)) is not None:
        raise refuse(where, fault, NAME_REMEDY)
