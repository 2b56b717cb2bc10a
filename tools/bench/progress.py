"""Output types of a measurement: rows of a table, and lines of progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
Echo = Callable[[str], None]
