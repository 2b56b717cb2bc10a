"""URLs of object stores, and those that are none."""

from __future__ import annotations

import pytest

from tailrace.ground.files.object_urls import parse_declared_url, parse_object_url


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("s3://lake", ("s3://lake", "")),
        ("s3://lake/", ("s3://lake", "")),
        ("s3://lake/a/b.parquet", ("s3://lake", "a/b.parquet")),
        ("gs://lake.example/a=1/", ("gs://lake.example", "a=1")),
        ("abfss://in@acc.dfs.core.windows.net/a", ("abfss://in@acc.dfs.core.windows.net", "a")),
    ],
)
def test_a_url_has_a_store_and_a_key(url, parts):
    assert parse_object_url(url) == parse_declared_url(url) == parts


@pytest.mark.parametrize(
    "url",
    [
        "s3:/lake/a",
        "s3:///a",
        "s3://me:secret@lake/a",
        "s3://lake/a//b",
        "s3://lake/../b",
        "s3://lake/a?x=1",
        "abfss://a/b",
        "abfss://in@elsewhere.example/a",
        "abfss://in@elsewhere.example/.dfs.core.windows.net/a",
        "http://lake/a",
        "file:///a",
        "s3://lake/a b",
        "s3://lake/a#b",
    ],
)
def test_another_text_is_none(url):
    assert parse_declared_url(url) is None


def test_an_object_that_nobody_has_named_by_hand_may_have_spaces():
    assert parse_object_url("s3://lake/city=New York/a.parquet") == ("s3://lake", "city=New York/a.parquet")
    assert parse_object_url("s3://lake/a\tb") is None
