"""One process in a directory."""

from __future__ import annotations

import os

import pytest

from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.held_directory import held_directory


def held(directory):
    return held_directory(directory, f"FOLDER {directory}", lambda: refuse("FOLDER", "it is held", "another one"))


def test_a_second_one_is_refused_while_the_first_runs_and_leaves_nothing(tmp_path):
    with held(tmp_path / "home"):
        with pytest.raises(Refused, match=r"FOLDER: it is held(.|\n)*another one"), held(tmp_path / "home"):
            pytest.fail("it was not refused")
        with held(tmp_path / "other"):
            pass
        assert not any((tmp_path / "home").iterdir())
    with held(tmp_path / "home"):
        pass


def test_a_directory_that_cannot_be_made_or_written_to_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for home, fault in ((tmp_path / "file", "File exists"), (tmp_path / "file" / "home", "Not a directory")):
        with pytest.raises(Refused, match=f"FOLDER {home}: .*{fault}"), held(home):
            pytest.fail("it was not refused")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(Refused, match="Permission denied"), held(tmp_path):
        pytest.fail("it was not refused")
