"""The names that queries can have."""

from __future__ import annotations

import re

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


def is_query_name(text: str) -> bool:
    """Test whether a query can have this name."""
    return _NAME.fullmatch(text) is not None
