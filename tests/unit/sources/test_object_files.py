"""Files in object stores, on a store in a directory: what is listed, and reads by ranges."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from obstore.store import LocalStore

from kit.runs.file_feeds import COLUMNS, TYPES
from tailrace.ground.errors import Refused, SourceChanged
from tailrace.sources.discovery import file_feed, new_files, object_files, source_directory
from tailrace.sources.discovery.file_feed import FileFeed
from tailrace.sources.discovery.object_files import find_object, is_prefix, list_after, list_objects
from tailrace.sources.formats.registry import FORMATS
from tailrace.sources.segments import Segment


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


def test_a_listing_at_any_depth_begins_after_a_path(lake):
    paths = ["a", "b", "deep/c"]
    for first, after in enumerate(["", *paths]):
        below = [file.url.removeprefix("s3://lake/in/") for file in list_after("s3://lake/in", after, None)]
        assert sorted(below) == paths[first:]


def test_a_prefix_has_objects_below_it(lake):
    urls = ("s3://lake", "s3://lake/in", "s3://lake/in/deep", "s3://lake/in/a", "s3://lake/i", "s3://lake/none")
    assert [is_prefix(url, None) for url in urls] == [True, True, True, False, False, False]


@pytest.fixture
def live(lake, monkeypatch):
    """A live feed over objects that opens no file, and what it asked the store for."""
    asked = []
    for name in ("list_objects", "list_after"):
        original = getattr(source_directory, name)

        def ask(*arguments, name=name, original=original):
            asked.append(name)
            return original(*arguments)

        monkeypatch.setattr(source_directory, name, ask)
    monkeypatch.setattr(type(FORMATS["parquet"]), "split", lambda self, file: [Segment(str(file), 0, 1, of_rows=1)])
    monkeypatch.setattr(file_feed, "merge_types", lambda *_: TYPES)
    clock = iter(range(10**6))
    record = SimpleNamespace(rows=lambda: 0, files=lambda prefix: ())
    return FileFeed("s3://lake/new", "parquet", COLUMNS, {}, (), 9, clock.__next__, record=record), asked


def test_a_long_prefix_is_listed_from_its_last_object_on(lake, live, monkeypatch):
    monkeypatch.setattr(new_files, "PAGE", 2)
    feed, asked = live

    def add(*paths):
        for path in paths:
            (lake / "new" / path).parent.mkdir(parents=True, exist_ok=True)
            (lake / "new" / path).write_bytes(path.encode())

    def fresh():
        asked.clear()
        return [segment.path.removeprefix("s3://lake/new/") for segment in feed.fresh()]

    add("2026-11-25/a.parquet", "2026-11-25/b.parquet")
    assert (fresh(), asked) == (["2026-11-25/a.parquet", "2026-11-25/b.parquet"], ["list_objects"] * 2)
    add("2026-11-25/c.parquet")
    assert (fresh(), asked) == (["2026-11-25/c.parquet"], ["list_objects"] * 2), "one request would list all of them"
    assert (fresh(), asked) == ([], ["list_objects"] * 2), "the first whole listing of a long prefix"
    add("2026-11-25/d.parquet", "2026-11-26/a.parquet", "2026-11-25/0.parquet", "_tmp/a.parquet")
    assert (fresh(), asked) == (["2026-11-25/d.parquet", "2026-11-26/a.parquet"], ["list_after"])
    late = [path for _ in range(70) for path in fresh()]
    assert late == ["2026-11-25/0.parquet"], "with the next whole listing"
    (lake / "new" / "2026-11-25" / "b.parquet").write_bytes(b"another")
    with pytest.raises(SourceChanged, match=r"2026-11-25/b\.parquet: a file of this name was read before"):
        _ = [fresh() for _ in range(70)]


def test_a_directory_in_a_store_that_is_no_partition_is_refused_by_any_listing(lake, live, monkeypatch):
    monkeypatch.setattr(new_files, "PAGE", 0)
    feed, asked = live
    (lake / "new").mkdir()
    (lake / "new" / "a.parquet").write_bytes(b"a")
    feed.fresh(), feed.fresh()
    (lake / "new" / "b").mkdir()
    (lake / "new" / "b" / "a.parquet").write_bytes(b"a")
    asked.clear()
    with pytest.raises(Refused, match=r"s3://lake/new/b: this is a directory"):
        feed.fresh()
    assert asked == ["list_after"]


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
