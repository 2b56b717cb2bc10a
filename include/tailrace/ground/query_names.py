"""The rule for names of queries."""

from __future__ import annotations

import re

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


def is_query_name(text: str) -> bool:
    """Test whether a text is a valid name of a query."""
    return _NAME.fullmatch(text) is not None
