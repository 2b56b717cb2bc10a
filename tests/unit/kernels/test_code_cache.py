"""The cache of compiled kernels: whole files or none, by their source and the processor."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tailrace.kernels import target
from tailrace.kernels.arrival_ticks import number_ticks
from tailrace.kernels.code_cache import CodeCache, file_name
from tailrace.kernels.registry import KERNELS


def test_what_was_written_is_read(tmp_path: Path) -> None:
    cache = CodeCache((tmp_path / "new" / "directory",))
    assert cache.read("code") is None
    assert cache.write("code", b"machine code") == tmp_path / "new" / "directory" / "code"
    assert cache.read("code") == b"machine code"
    assert [file.name for file in (tmp_path / "new" / "directory").iterdir()] == ["code"]


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: b"", lambda content: content + b"\0"])
def test_a_damaged_file_is_none(tmp_path: Path, damage) -> None:
    cache = CodeCache((tmp_path,))
    cache.write("code", b"machine code")
    (tmp_path / "code").write_bytes(damage((tmp_path / "code").read_bytes()))
    assert cache.read("code") is None


def test_a_directory_that_takes_no_file_leaves_it_to_the_next(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = CodeCache((tmp_path / "file", tmp_path / "second"))
    assert cache.write("code", b"machine code") == tmp_path / "second" / "code"
    assert cache.read("code") == b"machine code"
    assert cache.is_writable()
    assert not CodeCache((tmp_path / "file",)).is_writable()
    assert CodeCache((tmp_path / "file",)).write("code", b"") is None


def test_the_installation_comes_before_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, second = CodeCache.of_machine().directories
    assert first == Path(sys.prefix, "share", "tailrace", "kernels")
    assert second == tmp_path / "tailrace" / "kernels"


def test_other_kernels_and_another_processor_have_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    here = file_name(KERNELS)
    assert here == file_name(KERNELS)
    assert here != file_name((number_ticks,))
    monkeypatch.setattr("tailrace.kernels.code_cache.description", lambda: f"{target.description()}+more")
    assert here != file_name(KERNELS)
