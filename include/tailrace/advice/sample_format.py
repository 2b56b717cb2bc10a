"""Detects the format of a sample (a file, a directory of files, or a Delta table), and refuses unreadable ones."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path

from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.regular_files import NotRegularError, open_regular
from tailrace.ground.near_names import nearest
from tailrace.sources.formats.json_files import no_lines
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.segments import irregular

DELTA = "delta"

_FIRST_BYTES = 4096
_ARCHIVES = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_OPENED = re.compile(rb"\{[ \t\r]*\n")


def format_of(path: Path) -> str:
    """Return the format of a sample, named as in query files.

    Raises
    ------
    Refused
        When there is nothing at the path, or no source can read it.
    """
    if not path.exists():
        near = nearest(path.name, [each.name for each in path.parent.glob("*")])
        remedy = f"{path.parent / near}" if near else "a file, a directory of files, or a Delta table"
        raise refuse(str(path), "no such file or directory", remedy)
    if not path.is_dir():
        return _format_of_file(path)
    if (path / "_delta_log").is_dir():
        return DELTA
    known = {suffix: name for name, file_format in FORMATS.items() for suffix in file_format.suffixes}
    counts = Counter(known[each.suffix] for each in path.rglob("*") if each.suffix in known)
    if not counts:
        fault = f"no file below it has a name that ends in {', '.join(known)}"
        raise refuse(str(path), fault, "files of one format, with its suffix")
    return counts.most_common(1)[0][0]


def _format_of_file(path: Path) -> str:
    first = _first_bytes(path)
    if first.startswith(b"PAR1"):
        return "parquet"
    for magic, packed in _ARCHIVES.items():
        if first.startswith(magic):
            remedy = "the file unpacked; of a spreadsheet, its sheet saved as CSV in UTF-8"
            raise refuse(str(path), f"its content is packed ({packed}), or a spreadsheet", remedy)
    if first.startswith(_UTF_16):
        raise encoding_refusal(path, "UTF-16", "it is UTF-16")
    text = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"[{", b"[\n", b"[\r", b"[ ")):
        raise no_lines(path, "it is one JSON list", "'.[]'")
    if _OPENED.match(text):
        raise no_lines(path, "its objects stand over several lines", ".")
    if b"\x00" in first:
        raise refuse(str(path), "it is no text, and no Parquet file", "CSV, JSON lines, Parquet, or a Delta table")
    return "json" if text.startswith(b"{") else "csv"


def encoding_refusal(path: Path | str, encoding: str, fault: str) -> Refused:
    """Build the refusal of a text in another encoding, with the command that converts it."""
    name = Path(str(path)).stem
    command = f"iconv -f {encoding} -t UTF-8 {shlex.quote(str(path))} > {shlex.quote(f'{name}-utf8.csv')}"
    return refuse(str(path), f"{fault}, and sources are read as UTF-8", f"the text in UTF-8, as by: {command}")


def _first_bytes(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            return file.read(_FIRST_BYTES)
    except NotRegularError as error:
        raise irregular(error) from None
    except OSError as error:
        raise refuse(str(path), f"it can't be read: {error.strerror}", "a file that you may read") from None
