"""Pages that people write have what the code has: variables, exit codes, extras, names; whole links and paths."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import tailrace
import tailrace.testing
from tailrace.ground.errors import Problem

_ADDRESS = r"https://[\w.-]+\.[a-z]+(/[^\s]*)?"
_TOPS = ("tests", "tools", "include", "docs", "dags", "spark_apps", "plugins")


def lacking(page: str, what: str, due: Iterable[str], text: str, pattern: str) -> Iterator[Problem]:
    """Yield a problem for each name that code has, and that a pattern does not find on a page."""
    for name in sorted({*due} - {*re.findall(pattern, text, re.MULTILINE)}):
        yield Problem(page, f"the {what} {name} is missing", f"a row with {name}")


def environment_variables(root: Path) -> Iterator[Problem]:
    """Yield the environment variables that the code knows, and their page does not."""
    files = [*(root / "include" / "tailrace").rglob("*.py"), *(root / "deploy").rglob("*.*")]
    files.append(root / "docker-compose.yaml")
    text = "\n".join(file.read_text() for file in files if file.suffix != ".json")
    used = re.findall(r"(?<![\w}])TAILRACE_[A-Z_]*[A-Z]\b", text)
    page = "docs/environment.md"
    yield from lacking(page, "environment variable", used, (root / page).read_text(), r"TAILRACE_[A-Z_]+")


def exit_codes(root: Path) -> Iterator[Problem]:
    """Yield the exit codes of commands that their page does not have."""
    text = "".join(file.read_text() for file in (root / "include" / "tailrace" / "cli").glob("*.py"))
    codes = {"0", "1", "2", *re.findall(r"^(?:_INTERRUPTED|CLOSED_PIPE) = (\d+)", text, re.MULTILINE)}
    page = "docs/exit-codes.md"
    yield from lacking(page, "exit code", codes, (root / page).read_text(), r"^\| (\d+) \|")


def extras(root: Path) -> Iterator[Problem]:
    """Yield the extras that the page on installing lacks, and those that it has beyond the declared ones."""
    declared = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = "docs/install.md"
    cells = re.findall(r"^\| (`.*?) \|", (root / page).read_text(), re.MULTILINE)
    shown = Counter(name.strip("`") for cell in cells for name in cell.split(", "))
    for name in sorted(declared.keys() - shown):
        yield Problem(page, f"the extra {name} is missing", f"a row with `{name}`")
    for name in sorted(shown - Counter([*declared])):
        yield Problem(page, f"the extra {name} is not declared, or stands there twice", f"one of {', '.join(declared)}")


def python_names(root: Path) -> Iterator[Problem]:
    """Yield the names on the page of the Python API that the package does not have."""
    page = "docs/python.md"
    places = (
        (r"`\.(\w+)\(", (tailrace.Query, tailrace.Run, tailrace.Answers)),
        (r"tailrace\.([A-Z]\w+)", (tailrace,)),
        (r"testing\.(\w+)", (tailrace.testing,)),
    )
    for number, line in enumerate((root / page).read_text().splitlines(), 1):
        for pattern, owners in places:
            for name in re.findall(pattern, line):
                if not any(hasattr(owner, name) for owner in owners):
                    of = ", ".join(owner.__name__ for owner in owners)
                    yield Problem(f"{page}:{number}", f"there is no {name} in {of}", "a name of the package")


def glossaries(root: Path) -> Iterator[Problem]:
    """Yield the words that the two glossaries explain twice."""
    ours = (root / "CONTRIBUTING.md").read_text().partition("## Glossary")[2].partition("\n## ")[0]
    text = (root / "docs/glossary.md").read_text() + ours
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE)
    terms = Counter(term.partition(" (")[0].strip() for row in rows for term in row.split(";"))
    for term, count in terms.items():
        if count > 1 and term not in ("term", "---"):
            yield Problem("docs/glossary.md", f"{term} has {count} rows, with those of CONTRIBUTING.md", "one row")


def lines_of_pages(root: Path) -> Iterator[tuple[str, str]]:
    """Yield each line of README, CONTRIBUTING and the pages, after its file and number."""
    for file in (root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            yield f"{file.relative_to(root)}:{number}", line


def paths(root: Path) -> Iterator[Problem]:
    """Yield the paths of the tree in backticks, and the names of Python files, that no file has."""
    modules = [file.relative_to(root) for top in _TOPS for file in (root / top).rglob("*.py")]
    for place, line in lines_of_pages(root):
        for word in " ".join(re.findall(r"`([^`]+)`", line)).split():
            path = word.partition("::")[0]
            if path.startswith(tuple(f"{top}/" for top in _TOPS)):
                is_there = any(root.glob(path))
            elif re.fullmatch(r"[\w/*-]+\.py", path):
                is_there = any(module.match(path) for module in modules)
            else:
                continue
            if not is_there:
                yield Problem(place, f"there is no file {path}", "a file of the tree")


def links(root: Path) -> Iterator[Problem]:
    """Yield the links to other sites that are not whole, and the README's links to files that there are not."""
    for place, line in lines_of_pages(root):
        for link in re.findall(r"\]\((\w+:[^)\s]*)", line) + re.findall(r"<(https?:[^>]*)>", line):
            if not re.fullmatch(_ADDRESS, link):
                yield Problem(place, f"{link} is no whole address", "https://HOST/PATH")
        if place.startswith("README.md"):
            for path in re.findall(r"\]\(([^)#]+)", line) + re.findall(r'(?:src|srcset)="([^"]+)"', line):
                if ":" not in path and not (root / path).is_file():
                    yield Problem(place, f"there is no file {path}", "a file's path below the top of the tree")
