"""The pages of the documentation, and the fenced blocks and commands that stand on them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
SITE = ROOT / "tools" / "docs_site"
_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_SHELL = ("sh", "bash", "console")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes
    ----------
    line : int
        Of the page, where it begins.
    title : str or None
        The file that its text stands for, as a reader makes it.
    """

    line: int
    language: str
    title: str | None
    text: str

    @property
    def is_shell(self) -> bool:
        """Whether it holds commands."""
        is_bare = not self.language and re.search(r"^(?:tailrace|make|python) ", self.text, re.MULTILINE)
        return self.language in _SHELL or bool(is_bare)

    @property
    def commands(self) -> list[str]:
        """The commands in it, each as a line. In a block `console` they follow `$`, and their output follows them."""
        text = re.sub(r"\\\n\s*", " ", self.text)
        lines = text.splitlines() if self.language != "console" else re.findall(r"^\$ (.*)$", text, re.MULTILINE)
        found = [""]
        for line in lines:
            found[-1] += line
            if _is_whole(found[-1]):
                found.append("")
        return [line for line in found if line.strip() and not line.lstrip().startswith("#")]

    @property
    def output(self) -> list[str]:
        """The lines that a block `text` or `console` shows of what commands print; `…` stands for others."""
        lines = self.text.splitlines()
        shown = [line for line in lines if not line.startswith("$ ")] if self.language == "console" else lines
        return [line.strip() for line in shown if line.strip() not in ("", "…")]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    found = []
    for match in _FENCE.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        title = re.search(r'title="([^"]*)"', rest)
        lines = match["text"].splitlines(keepends=True)
        plain = "".join(line.removeprefix(match["indent"]) for line in lines)
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(line, language, title[1] if title else None, plain))
    return found


def inline_commands(text: str, program: str = "tailrace") -> list[str]:
    """Return the commands in the running text of a page: `tailrace …` between backticks."""
    return re.findall(rf"(?<!`)`({program}(?: [^`\n]+|\n[^`]+)?)`(?!`)", _FENCE.sub("", text))


def indented_commands(text: str) -> list[str]:
    """Return the commands of blocks that are indented and not fenced: no test reads those."""
    return re.findall(r"^ {4,}((?:tailrace|make|python|pip|airflow|docker) .*)$", _FENCE.sub("", text), re.MULTILINE)


def _is_whole(command: str) -> bool:
    """Whether the quotations of a command end in it."""
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True


def words(command: str) -> list[str]:
    """Return the words of a command without comments, and without variables set before it."""
    parts = shlex.split(command, comments=True)
    while parts and re.match(r"[A-Z_]+=", parts[0]):
        parts = parts[1:]
    return parts


def _files() -> Iterator[tuple[str, str]]:
    for file in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))):
        yield str(file.relative_to(ROOT)), file.read_text()


WRITTEN = dict(_files())
"""The text of each page that stands in the repository, by its path."""
