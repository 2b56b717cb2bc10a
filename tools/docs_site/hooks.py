"""Hooks of MkDocs: the reference, and the pages that stand at the top of the repository, join those of docs/."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

TOP = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
"""Pages that are written of files at the top of the repository."""
_NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that no file of docs/ holds."""
    sys.path[:0] = [str(place) for place in (HERE.parent, ROOT / "include") if str(place) not in sys.path]
    from docs_site import reference  # noqa: PLC0415 (MkDocs takes back what a hook does to the path at its import)

    pages = reference.pages() | {page: from_top((ROOT / file).read_text()) for page, file in TOP.items()}
    pages["changelog.md"] = _NOT_SEARCHED + pages["changelog.md"]
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def from_top(text: str) -> str:
    """Return a file of the top of the repository with its links as a page of docs/ has them."""
    text = re.sub(r'(\]\(|(?:href|src|srcset)=")docs/', r"\1", text)
    for page, file in TOP.items():
        text = text.replace(f"]({file}", f"]({page}")
    return text
