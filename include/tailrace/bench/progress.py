"""What measuring tells: rows of a table, and lines as it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
Tell = Callable[[str], None]
