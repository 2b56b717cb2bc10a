"""The files of the pages: what the content policy and the rule against markup from data ask of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tailrace.console

STATIC = Path(tailrace.console.__file__).parent / "static"
FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())
OURS = [path for path in FILES if path.parent.name != "uplot"]
SCRIPTS = [path for path in OURS if path.suffix == ".js"]
PAGES = [path for path in OURS if path.suffix == ".html"]
SHEETS = [path for path in FILES if path.suffix == ".css"]
NAMESPACE = "http://www.w3.org/2000/svg"  # a name that XML asks for; nothing is fetched from it

MARKUP_FROM_TEXT = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|DOMParser|createContextualFragment|srcdoc"
)
CODE_FROM_TEXT = re.compile(r"\beval\b|\bnew Function\b|\bset(?:Timeout|Interval)\(\s*[\"'`]|javascript:")
HANDLER = re.compile(r"\son[a-z]+\s*=\s*[\"']|setAttribute\(\s*[\"'](?:on|style)", re.IGNORECASE)
ABSOLUTE = re.compile(r"\b(?:https?|wss?|ftp):|[\"'`(=]\s*//|(?:href|src|action|url)\s*[=(]\s*[\"']?/", re.IGNORECASE)
DIALOG = re.compile(r"\b(?:alert|confirm|prompt)\(|window\.open")


def name_of(path: Path) -> str:
    return str(path.relative_to(STATIC))


def found(pattern: re.Pattern[str], path: Path) -> list[str]:
    """Return the lines of a file that match, without the name of SVG."""
    lines = path.read_text().replace(NAMESPACE, "").splitlines()
    return [f"{name_of(path)}:{number}: {line}" for number, line in enumerate(lines, 1) if pattern.search(line)]


def imports(path: Path) -> set[Path]:
    """Return the files that a module imports."""
    pattern = r"""^(?:import|export)\b[^;"'`=]*["']([^"']+)["'];$"""
    names = re.findall(pattern, path.read_text(), re.MULTILINE)
    assert all(name.startswith(("./", "../")) for name in names), f"{path}: an address that is not relative"
    return {(path.parent / name).resolve() for name in names}


def test_remedies_are_sentences():
    remedies = [
        (name_of(path), text) for path in SCRIPTS for text in re.findall(r'remedy: "([^"]+)"', path.read_text())
    ]
    assert {name for name, _ in remedies} == {"actions.js", "api.js", "ui.js"}
    assert [remedy for remedy in remedies if not remedy[1][0].isupper()] == []


def shown_files(page: Path) -> set[Path]:
    """Return the scripts, styles and pictures that a page names; a query's page stands one level below Streams."""
    names = re.findall(r"""(?:src|href)="(?:\.\./)?static/([^"]+)\"""", page.read_text())
    return {STATIC / name for name in names}


@pytest.mark.parametrize("pattern", [MARKUP_FROM_TEXT, CODE_FROM_TEXT, DIALOG], ids=["markup", "code", "dialog"])
def test_scripts_make_neither_markup_nor_code_from_text_and_open_no_window(pattern):
    assert [line for path in SCRIPTS for line in found(pattern, path)] == []


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("node.innerHTML = name", MARKUP_FROM_TEXT),
        ("document.write(name)", MARKUP_FROM_TEXT),
        ("eval(name)", CODE_FROM_TEXT),
        ("setTimeout('go()', 5)", CODE_FROM_TEXT),
        ("<a href='javascript:go()'>", CODE_FROM_TEXT),
        ("<body onload='go()'>", HANDLER),
        ("node.setAttribute('onclick', name)", HANDLER),
        ("node.setAttribute('style', name)", HANDLER),
        ("fetch('https://elsewhere.example/')", ABSOLUTE),
        ("import x from '//elsewhere.example/x.js'", ABSOLUTE),
        ("<script src='/static/x.js'></script>", ABSOLUTE),
        ("background: url(/x.png)", ABSOLUTE),
        ("if (confirm(name)) go()", DIALOG),
    ],
)
def test_the_patterns_find_what_they_forbid(text, pattern):
    assert pattern.search(text)


def test_no_file_has_an_inline_handler_or_style():
    assert [line for path in (*SCRIPTS, *PAGES) for line in found(HANDLER, path)] == []
    for page in PAGES:
        text = page.read_text()
        assert not re.search(r"<style|\sstyle\s*=|<base|<iframe|<form", text), page
        assert re.findall(r"<script(?![^>]*\ssrc=)", text) == [], f"{page}: an inline script"


def test_no_file_has_an_address_of_another_place():
    assert [line for path in OURS for line in found(ABSOLUTE, path)] == []
    assert [line for sheet in SHEETS for line in found(re.compile(r"@import|url\("), sheet)] == []


def test_every_file_is_used_by_a_page():
    used, left = set(), [file for page in PAGES for file in (page, *shown_files(page))]
    while left:
        file = left.pop()
        assert file.is_file(), f"{file}: named, and not there"
        if file in used:
            continue
        used.add(file)
        left += imports(file) if file.suffix == ".js" and file.parent.name != "uplot" else []
    unused = {name_of(path) for path in FILES} - {name_of(path) for path in used}
    assert unused == {"uplot/LICENSE"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_all_its_modules_so_that_none_is_found_only_by_reading_another(page):
    left, needed = [file for file in shown_files(page) if file.suffix == ".js"], set()
    while left:
        file = left.pop()
        if file not in needed:
            needed.add(file)
            left += imports(file) if file.parent.name != "uplot" else []
    names = re.findall(r'rel="modulepreload" href="(?:\.\./)?static/([^"]+)"', page.read_text())
    entries = re.findall(r'src="(?:\.\./)?static/([^"]+)"', page.read_text())
    assert sorted([*names, *(name for name in entries if name.endswith(".js"))]) == sorted(map(name_of, needed))
    assert len(names) == len(set(names))


@pytest.mark.parametrize("page", [page for page in PAGES if "early.js" in page.read_text()], ids=name_of)
def test_a_page_asks_for_what_sends_its_requests_before_any_other_file(page):
    assert re.findall(r'(?:src|href)="(?:\.\./)?static/([^"]+)"', page.read_text())[0] == "early.js"


def test_what_is_sent_early_are_the_parts_of_a_page_that_need_no_more_than_their_name():
    [early] = re.findall(r"export const PARTS = \[([^\]]*)\]", (STATIC / "early.js").read_text())
    [parts] = re.findall(r"export const PARTS = \{([^}]*)\}", (STATIC / "parts/index.js").read_text())
    assert set(re.findall(r"\w+", early)) == set(re.findall(r"\w+", parts)) - {"answer"}


def test_files_have_at_most_250_lines_of_a_length_that_can_be_read():
    for path in OURS:
        lines = path.read_text().splitlines()
        assert len(lines) <= 250, f"{path}: more than one idea?"
        most = 200 if path.suffix == ".js" else 400  # a rule of a style sheet stands in one line
        assert max(map(len, lines)) <= most, f"{path}: a line that is too long to be read"


def test_each_script_says_in_its_first_line_what_it_is():
    for path in SCRIPTS:
        assert re.match(r"// [A-Za-z`]", path.read_text()), path


def test_pages_have_landmarks_a_live_region_and_a_way_past_the_head():
    for page in PAGES:
        text = page.read_text()
        assert '<html lang="en">' in text
        assert text.count("<main ") == 1
        assert 'class="skip"' in text
        assert 'role="status" aria-live="polite"' in text
        assert 'name="viewport"' in text
