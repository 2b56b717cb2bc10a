"""The directories that sources must lie under."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.ground.files.source_roots import VARIABLE, outside_roots


@pytest.fixture
def roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("one", "two", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "two")
    monkeypatch.setenv(VARIABLE, f"{tmp_path / 'one'}:{tmp_path / 'link'}")
    return tmp_path


@pytest.mark.parametrize("place", ["one", "one/new/file", "two/file", "link/file"])
def test_a_path_under_a_root_may_be_read(roots: Path, place: str) -> None:
    assert outside_roots(roots / place) is None


@pytest.mark.parametrize("place", ["elsewhere", "one-more", "one/../elsewhere", ""])
def test_a_path_elsewhere_is_a_problem(roots: Path, place: str) -> None:
    problem = outside_roots(roots / place)
    assert problem is not None
    assert f"a path under {roots / 'one'} or {roots / 'two'}" in problem.remedy


def test_a_symbolic_link_counts_by_what_it_leads_to(roots: Path) -> None:
    (roots / "one" / "out").symlink_to(roots / "elsewhere")
    (roots / "elsewhere" / "in").symlink_to(roots / "one")
    problem = outside_roots(roots / "one" / "out" / "file")
    assert problem is not None
    assert f"which is {roots / 'elsewhere' / 'file'}" in problem.fault
    assert outside_roots(roots / "elsewhere" / "in" / "file") is None


def test_without_roots_a_source_may_lie_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert outside_roots(tmp_path) is None


@pytest.mark.parametrize("value", ["", ":", "::", "in", "./in", "in:/"])
def test_a_variable_without_an_absolute_root_allows_no_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, value)
    problem = outside_roots(tmp_path / "in")
    assert problem is not None
    assert (problem.where, "absolute directories" in problem.remedy) == (VARIABLE, True)


def test_no_object_store_is_under_a_root(monkeypatch, tmp_path):
    assert outside_roots("s3://lake/in") is None
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    problem = outside_roots("s3://lake/in")
    assert problem is not None
    assert "in an object store" in problem.fault
