"""The site is built with warnings as errors, from this repository alone, and every page is in its navigation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from doc_pages import ROOT, SITE, WRITTEN, blocks, site_module

pytestmark = pytest.mark.slow

LONGEST = 120
"""Lines of a page; a generated reference, and the pages of measurements, are as long as they are."""
LONG = {"CONTRIBUTING.md", "docs/expressions.md"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does."""
    place = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--quiet",
        "--strict",
        "--config-file",
        str(SITE / "mkdocs.yml"),
    ]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        [*command, "--site-dir", str(place)], capture_output=True, text=True, env=environment, check=False
    )
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return place


def test_it_has_every_page(site):
    names = {"index.html", "contributing.html", "changelog.html", "404.html"}
    names |= {name.removeprefix("docs/").replace(".md", ".html") for name in WRITTEN if name.startswith("docs/")}
    names |= {name.replace(".md", ".html") for name in site_module("reference").pages()}
    assert {str(file.relative_to(site)) for file in site.rglob("*.html")} == names


def test_a_browser_loads_nothing_from_elsewhere(site):
    for file in site.rglob("*.html"):
        text = file.read_text()
        loaded = re.findall(r"<(?:script|img|link|source|iframe)\b[^>]*?(?:src|href|srcset)=\"(\w+:)?//[^\"]*\"", text)
        assert loaded == [], file
    style = "".join(file.read_text() for file in site.rglob("*.css"))
    assert re.findall(r"url\([\"']?https?:[^)]*\)|@import", style) == []


def test_its_search_knows_the_words_of_the_pages(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    titles = {entry["title"] for entry in index["docs"]}
    assert {"Glossary", "tailrace restore", "Your own CSV in ten minutes", "Comparison with other systems"} <= titles


def test_links_to_other_sites_are_whole():
    for page, text in WRITTEN.items():
        links = re.findall(r"\]\((\w+:[^)\s]*)", text) + re.findall(r"<(https?:[^>]*)>", text)
        assert [link for link in links if not re.fullmatch(r"https://[\w.-]+\.[a-z]+(/[^\s]*)?", link)] == [], page


@pytest.mark.parametrize(
    "page", [page for page in WRITTEN if not page.startswith("docs/results/") and page not in LONG]
)
def test_a_page_is_short(page):
    if page != "CHANGELOG.md":
        assert len(WRITTEN[page].splitlines()) <= LONGEST


def test_the_readme_is_short():
    assert len(WRITTEN["README.md"].split()) <= 900
    (query,) = [block for block in blocks(WRITTEN["README.md"]) if block.language == "yaml"]
    assert len(query.text.splitlines()) <= 12
    assert WRITTEN["README.md"].count("<picture>") == 1


def test_a_word_stands_in_one_glossary_once():
    own = WRITTEN["CONTRIBUTING.md"].partition("## Glossary")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", WRITTEN["docs/glossary.md"] + own, re.MULTILINE)
    terms = [term.partition(" (")[0].strip() for row in rows for term in row.split(";") if row not in ("term", "---")]
    assert len(terms) > 80
    assert sorted(terms) == sorted(set(terms))


def test_links_of_the_readme_lead_to_files():
    text = WRITTEN["README.md"]
    paths = re.findall(r"\]\(([^)#]+)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
    assert [path for path in paths if not (ROOT / path).is_file()] == []
