"""The directory as a store with conditions: of those who write at once one does, and who stood still writes nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tailrace.storage import conditional_store
from tailrace.storage.conditional_store import DirectoryStore


@pytest.fixture
def store(tmp_path) -> DirectoryStore:
    return DirectoryStore(tmp_path)


def test_an_object_is_created_once_and_replaced_by_who_knows_its_version(store):
    assert store.get("a") is None
    assert store.create("a", b"1")
    assert not store.create("a", b"2")
    first = store.get("a")
    assert store.replace("a", b"2", first.version)
    assert not store.replace("a", b"3", first.version)
    assert store.get("a").content == b"2"
    assert store.get("ab") is None


def test_of_many_writers_at_once_one_writes(store):
    store.create("a", b"0")
    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):
            version = store.get("a").version
            contents = [str(number).encode() for number in range(8)]
            written = list(pool.map(lambda content, version=version: store.replace("a", content, version), contents))
            assert sum(written) <= 1
            assert store.get("a").content in contents
            assert not any(written) or store.get("a").content == contents[written.index(True)]


def test_few_old_versions_stay_and_hidden_files_none(store, tmp_path):
    store.create("a", b"0")
    for number in range(100):
        assert store.replace("a", str(number).encode(), store.get("a").version)
    assert len(list(tmp_path.iterdir())) <= 25


def test_an_object_whose_first_version_was_removed_is_not_created_again(store, tmp_path):
    store.create("a", b"0")
    for number in range(100):
        assert store.replace("a", str(number).encode(), store.get("a").version)
    files = {file.name for file in tmp_path.iterdir()}
    assert "a.1" not in files
    assert not store.create("a", b"late")
    assert not store.replace("a", b"late", "1")
    assert {file.name for file in tmp_path.iterdir()} == files


def test_who_stood_still_until_its_version_was_removed_writes_nothing(store, monkeypatch):
    store.create("a", b"0")
    early, create = store.get("a").version, conditional_store.create_atomically

    def stand_still(target, content):
        monkeypatch.setattr(conditional_store, "create_atomically", create)
        for number in range(50):
            assert store.replace("a", str(number).encode(), store.get("a").version)
        create(target, content)

    monkeypatch.setattr(conditional_store, "create_atomically", stand_still)
    assert not store.replace("a", b"late", early)
    assert store.get("a").content == b"49"
