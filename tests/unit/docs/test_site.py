"""The site is built with warnings as errors, from this repository alone, and every page is in its navigation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs_site import reference
from kit.suite.doc_pages import SITE, WRITTEN

pytestmark = [pytest.mark.slow, pytest.mark.needs("process")]


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
    names |= {name.replace(".md", ".html") for name in reference.pages()}
    assert {str(file.relative_to(site)) for file in site.rglob("*.html")} == names


@pytest.mark.needs("long")
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
