"""A part that tests need and that is missing is red, with what to type; `make parts` says it before."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import pytest

from bench import cached_jars
from bench.maven import Artifact
from kit.parts import debian, object_store

pytestmark = pytest.mark.usefixtures("bare")


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A home without a cache, on a machine that can neither install nor build."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda _: None)


@pytest.fixture
def fetch_parts(monkeypatch):
    """The module of `make parts`."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "tools")
    return importlib.import_module("fetch_parts")


def test_a_missing_program_is_red_with_what_to_type():
    with pytest.raises(pytest.fail.Exception, match=r"^Chromium is missing; type: sudo sh -c 'apt-get .* chromium'$"):
        debian.bring("Chromium", "chromium", lambda: None)


def test_an_object_store_that_cannot_be_built_is_red_with_what_to_do():
    with pytest.raises(pytest.fail.Exception, match=r"^the program go is missing, .*; see https://"):
        object_store.program()


def test_jars_are_fetched_once_and_only_if_all_come(monkeypatch):
    calls = []
    monkeypatch.setattr(cached_jars, "fetch", lambda *call, alone: calls.append(call) or 1 / (len(calls) - 2))
    jars = cached_jars.CachedJars("toy-1", (Artifact("org.toy", "a", "1"), Artifact("org.toy", "b", "1")))
    with pytest.raises(ZeroDivisionError):
        jars.bring()
    assert not jars.are_there
    assert jars.bring() == jars.bring()
    assert jars.are_there
    assert [artifact.name for artifact, _ in calls] == ["a", "b", "a", "b"]


def test_each_part_is_said_to_be_there_fetched_or_missing(fetch_parts, capsys):
    def fail():
        raise RuntimeError("Ivy: no route to host")

    there = fetch_parts.Part("Chromium", lambda: True, fail)
    fetched = fetch_parts.Part("Kafka", lambda: False, lambda: None)
    store = fetch_parts.Part("the object store", object_store.installed, object_store.program)
    assert fetch_parts.main((there, fetched)) == 0
    assert fetch_parts.main((fetch_parts.Part("YARN", lambda: False, fail), store, there)) == 1
    assert capsys.readouterr().out == (
        "Chromium: there\n"
        "Kafka: fetched in 0 s\n"
        "YARN: missing: Ivy: no route to host\n"
        "Right would be: a network with Maven's repository, then make parts\n"
        "the object store: missing: the program go is missing, which builds the server; "
        "see https://go.dev/doc/install\n"
        "Chromium: there\n"
    )
