"""Options of a command that take several of some names."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")


def chosen(parser: argparse.ArgumentParser, option: str, text: str, known: Mapping[str, T]) -> list[T]:
    """Return the values of a comma-separated option; an unknown name is a usage error (exit code 2)."""
    if unknown := [name for name in text.split(",") if name not in known]:
        parser.error(f"{option}: {', '.join(unknown)} is none of {', '.join(known)}")
    return [known[name] for name in text.split(",")]
