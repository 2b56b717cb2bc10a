"""How long files are: one idea a file, and pages that are read to their end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kit.suite.doc_pages import blocks
from rooms import TOOLS
from tailrace.ground.errors import Problem
from tree.derived import by_hand

_PAGE = "what a reader needs, and a page of its own for the rest"
LIMITS = (
    ("include/tailrace/**/*.py", 400, "one idea a file, of 60 to 400 lines: what part of it is an idea of its own?"),
    *((f"tools/{room}/**/*.py", 400, "one idea a file, of 60 to 400 lines") for room in TOOLS),
    ("README.md", 120, _PAGE),
    ("docs/*.md", 120, _PAGE),
    ("docs/python.md", 80, _PAGE),
    ("include/examples/*/README.md", 40, _PAGE),
)
"""Files, the lines that they may have, and what would be right. The parts of pages that code writes do not count."""
README_WORDS, QUERY_LINES, PICTURES = 900, 12, 4


def long_files(root: Path) -> Iterator[Problem]:
    """Yield the files with more lines than they may have."""
    for pattern, most, remedy in LIMITS:
        for file in sorted(root.glob(pattern)):
            count = len(by_hand(file.read_text()).splitlines())
            if count > most:
                name = file.relative_to(root)
                yield Problem(f"{name}:{most + 1}", f"has {count} lines, more than {most}", remedy)


def long_readme(root: Path) -> Iterator[Problem]:
    """Yield where the README is more than a first look: words, its query, pictures."""
    text = (root / "README.md").read_text()
    count = len(by_hand(text).split())
    if count > README_WORDS:
        yield Problem("README.md", f"has {count} words", f"at most {README_WORDS}; docs/ has room")
    queries = [block for block in blocks(text) if block.language == "yaml"]
    if len(queries) != 1:
        yield Problem("README.md", f"has {len(queries)} queries", "one block of YAML, which a reader can take in")
    for query in queries:
        lines = len(query.text.splitlines())
        if lines > QUERY_LINES:
            yield Problem(f"README.md:{query.line}", f"a query of {lines} lines", f"at most {QUERY_LINES}")
    pictures = text.count("<picture>")
    if pictures != PICTURES:
        yield Problem("README.md", f"has {pictures} pictures", f"{PICTURES} <picture>, each light and dark")
