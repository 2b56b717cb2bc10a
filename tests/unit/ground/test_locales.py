"""Names of files in UTF-8: the locale of processes that are started, and names that not all would take alike."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.ground.locales import name_fault, utf_8_locale


@pytest.mark.parametrize(
    "environment", [{}, {"LANG": "C"}, {"LANG": "de_DE.UTF-8", "LC_ALL": "C"}, {"LC_CTYPE": "POSIX", "LANG": "C.UTF-8"}]
)
def test_a_locale_without_an_encoding_is_replaced(environment: dict[str, str]) -> None:
    assert utf_8_locale(environment) == {"LC_ALL": "C.UTF-8"}


@pytest.mark.parametrize(
    "environment", [{"LANG": "C.UTF-8"}, {"LC_ALL": "de_DE.UTF-8", "LANG": "C"}, {"LANG": "de_DE"}]
)
def test_any_other_locale_stays(environment: dict[str, str]) -> None:
    assert utf_8_locale(environment) == {}


def test_names_in_utf_8_are_no_fault_and_others_are() -> None:
    for path in ("a", Path("wh-ü"), "日/😀"):
        assert name_fault(path) is None
    assert name_fault(os.fsdecode(b"caf\xe9")) == "its name is no UTF-8: 'caf\\udce9'"


def test_a_name_beyond_ascii_is_a_fault_where_the_locale_has_another_encoding(monkeypatch) -> None:
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "iso8859-1")
    assert name_fault("wh") is None
    assert name_fault("wh-ü") == "its name is not ASCII, and the locale's encoding is iso8859-1"


@pytest.mark.needs("process")
def test_python_itself_takes_names_for_utf_8_in_the_locale_c() -> None:
    code = "import sys; print(sys.getfilesystemencoding())"
    environment = {"LC_ALL": "C", "PATH": os.environ["PATH"]}
    assert subprocess.check_output([sys.executable, "-c", code], env=environment, text=True).strip() == "utf-8"
