"""The encoding of file names: UTF-8, in this process and in its child processes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def utf_8_locale(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that makes a JVM read file names as UTF-8, as Python does, in a C locale."""
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or "C"
    return {"LC_ALL": "C.UTF-8"} if locale in ("C", "POSIX") else {}


def name_fault(path: Path | str) -> str | None:
    """Return the reason why programs might find different files at a path; None if they find the same."""
    text = str(path)
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"its name is no UTF-8: {text!a}"
    encoding = sys.getfilesystemencoding()
    return None if encoding == "utf-8" else f"its name is not ASCII, and the locale's encoding is {encoding}"


NAME_REMEDY = "a name in UTF-8, and a locale whose encoding is UTF-8: LC_ALL=C.UTF-8"
