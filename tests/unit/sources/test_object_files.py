"""Files in object stores, on a store in a directory: what is listed, and reads by ranges."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from obstore.store import LocalStore

from tailrace.sources import object_files
from tailrace.sources.object_files import find_object, list_objects


@pytest.fixture
def lake(tmp_path, monkeypatch) -> Path:
    """The directory of the store s3://lake."""
    monkeypatch.setattr(object_files, "store_of", lambda store, connection: LocalStore(tmp_path))
    for name, content in (("in/a", b"0123456789"), ("in/b", b"b"), ("in/deep/c", b"c"), ("inner", b"d")):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return tmp_path


def test_a_listing_has_what_is_directly_below_a_url(lake):
    objects, directories = list_objects("s3://lake/in", None)
    assert sorted((str(file), file.name, file.size) for file in objects) == [
        ("s3://lake/in/a", "a", 10),
        ("s3://lake/in/b", "b", 1),
    ]
    assert directories == ["deep"]
    assert [file.url for file in list_objects("s3://lake", None)[0]] == ["s3://lake/inner"]
    assert list_objects("s3://lake/none", None) == ([], [])


def test_a_single_object_is_found_as_it_is_listed(lake):
    assert find_object("s3://lake/in/b", None) in list_objects("s3://lake/in", None)[0]
    assert find_object("s3://lake/in/none", None) is None


@pytest.mark.parametrize("has_e_tag", [True, False])
def test_an_object_is_read_as_a_file(lake, has_e_tag):
    file = find_object("s3://lake/in/a", None)
    file = file if has_e_tag else replace(file, e_tag=None)
    with file.open() as opened:
        assert (opened.read(3), opened.tell(), opened.read()) == (b"012", 3, b"3456789")
        assert (opened.seek(-2, io.SEEK_END), opened.read(), opened.read()) == (8, b"89", b"")
        opened.seek(4)
        opened.seek(1, io.SEEK_CUR)
        assert opened.read(1) == b"5"


def test_another_content_has_another_state_and_is_not_read(lake):
    file = find_object("s3://lake/in/a", None)
    (lake / "in" / "new").write_bytes(b"abcdefghij")
    (lake / "in" / "new").rename(lake / "in" / "a")
    other = find_object("s3://lake/in/a", None)
    assert (other.size, other.state) != (file.size, file.state)
    assert other.size == file.size
    assert 0 <= other.digest < 1 << 63
    with pytest.raises(OSError, match="replaced or removed while it was read"):
        file.open().read()
