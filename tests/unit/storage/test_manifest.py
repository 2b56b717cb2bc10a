"""Which parts of a query are named as changed since its checkpoint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from oracle import Settings
from tailrace.storage.manifest import CheckpointManifest, changes, keeps_answers
from warehouse import make_query

HOUR = 3_600_000
BEFORE = Settings(2 * HOUR, HOUR, 100, "sum", ("k_slack", 1_000))


def changed(query: Settings, before: Settings = BEFORE, **stream: object) -> set[str]:
    """The changes from a query to another one; `stream`: of the later one."""
    structures = [make_query(Path("in"), before).structure(), make_query(Path("in"), query, **stream).structure()]
    return set(changes(CheckpointManifest("id", structures[0], {}, {}, {}), structures[1]))


@pytest.mark.parametrize(
    ("query", "stream", "names"),
    [
        (BEFORE, {}, set()),
        (BEFORE, {"bounds": {"ahead": "2 h"}}, set()),
        (BEFORE, {"bounds": {"skew": "2 h"}}, {"streams.readings.bounds.skew"}),
        (replace(BEFORE, policy=("k_slack", 2 * HOUR)), {}, set()),
    ],
)
def test_bounds_that_hold_are_compared(query: Settings, stream: dict, names: set[str]) -> None:
    assert changed(query, **stream) == names


def test_a_bound_that_follows_from_k_is_named_and_can_be_kept_by_writing_it() -> None:
    longer = Settings(2 * HOUR, HOUR, 100, "sum", ("k_slack", 3 * HOUR))
    assert changed(longer) == {"streams.readings.bounds.ahead"}
    assert not keeps_answers(changed(longer))
    assert changed(longer, bounds={"ahead": "2 h"}) == set()


def test_a_bound_that_follows_from_the_window_is_not_named_beside_it() -> None:
    assert changed(Settings(3 * HOUR, HOUR, 100, "sum", ("k_slack", 1_000))) == {"window.size"}


def test_a_manifest_of_an_earlier_version_has_no_skew() -> None:
    now = make_query(Path("in"), BEFORE).structure()
    before = {name: value for name, value in now.items() if not name.endswith(".skew")}
    assert changes(CheckpointManifest("id", before, {}, {}, {}), now) == {}
