"""The wait of a deployed driver for its warehouse: until its deployment is on record there, it begins nothing."""

from __future__ import annotations

from functools import partial

import pytest

from tailrace.ground.errors import Damaged
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.deployment import await_deployment
from tailrace.storage.layout import Layout


@pytest.fixture
def layout(tmp_path):
    layout = Layout(tmp_path / "wh" / "readings")
    layout.stream.mkdir(parents=True)
    return layout


def test_a_driver_whose_warehouse_is_away_waits_and_begins_nothing(layout, tmp_path, capsys):
    """As after a restart of a machine, before the disk is mounted."""
    on_record = DeployedQuery(tmp_path / "readings.yaml", "name: readings", {"batch_rows": 7})
    on_record.write(layout)
    away = layout.home.rename(layout.home.with_name("away"))
    waits = []

    def sleep(seconds):
        assert not layout.home.exists()
        waits.append(seconds)
        if len(waits) == 9:
            away.rename(layout.home)

    assert await_deployment(layout.home, partial(DeployedQuery.read, layout), sleep) == on_record
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    said = capsys.readouterr().err
    assert said.count("waiting for the warehouse: no deployment of readings is on record") == 1
    assert "tailrace stop readings, and deploy it again" in said


def test_what_is_on_record_is_not_waited_for(layout):
    DeployedQuery(layout.home, "", {}).write(layout)
    waits = []
    await_deployment(layout.home, partial(DeployedQuery.read, layout), waits.append)
    assert waits == []


def test_a_damaged_record_is_refused_and_not_waited_for(layout):
    layout.deployed.write_text("{")
    with pytest.raises(Damaged, match="tailrace stop readings"):
        await_deployment(layout.home, partial(DeployedQuery.read, layout), lambda _: pytest.fail("it waits"))
