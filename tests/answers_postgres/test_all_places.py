"""What readers of all places see through deaths, outages, rebuilds and a restored backup."""

from __future__ import annotations

import pytest

from answers_postgres.all_places import CHANGES, AllPlaces
from kit.fakes.fake_topic import fake_topic

SEEDS = 2


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", CHANGES)
def test_each_place_ends_with_the_results_and_never_goes_back(tmp_path, monkeypatch, connection, sql, name, seed):
    places = AllPlaces(name, tmp_path, seed, monkeypatch, fake_topic(monkeypatch), sql)
    places.live()
    places.assert_shown()
    assert all(reader.polls > 15 for reader in places.readers.values())
