"""The section `calibration`: a cron expression, or a number of windows, for the policy that takes proposals."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from tailrace.query.declared import declared_query
from tailrace.query.query import Query

STREAM = {"source": {"format": "parquet", "path": "in"}, "event_time": "at", "arrival_time": "came", "id": "id"}
CACHED = {"policy": "cache_duration"}


def declare(calibration: dict[str, Any] | None, disorder: dict[str, Any] = CACHED, slide: str = "5 s") -> Query:
    query: dict[str, Any] = {
        "name": "best",
        "kind": "topk",
        "streams": {"trades": STREAM},
        "window": {"size": "1 min" if slide == "5 s" else slide, "slide": slide},
        "topk": {"k": 5, "score": "price"},
        "disorder": disorder,
    }
    return declared_query(query | ({} if calibration is None else {"calibration": calibration}))


def test_calibrations_are_hourly_by_default():
    query = declare(None)
    assert query.calibration.cron == "@hourly"
    assert query.calibration.interval(query.window_step) is None


def test_a_schedule_is_a_cron_expression():
    assert declare({"schedule": "*/10 * * * *"}).calibration.cron == "*/10 * * * *"
    with pytest.raises(ValidationError, match="'at noon' is no cron expression"):
        declare({"schedule": "at noon"})


@pytest.mark.parametrize(("every", "seconds"), [("30 windows", 150), ("12 windows", 60), ("1000 windows", 5_000)])
def test_a_number_of_windows_is_a_time_by_their_slide(every, seconds):
    query = declare({"every": every})
    assert query.calibration.interval(query.window_step) == timedelta(seconds=seconds)


def test_of_a_join_a_window_is_as_long_as_its_reach():
    query = declared_query(
        {
            "name": "near",
            "kind": "emd_join",
            "streams": {"left": STREAM, "right": STREAM},
            "window": {"size": "2 s"},
            "emd_join": {"histogram": "hist", "threshold": 1},
            "disorder": CACHED,
            "calibration": {"every": "30 windows"},
        }
    )
    assert query.calibration.interval(query.window_step) == timedelta(minutes=1)


@pytest.mark.parametrize("every", ["0 windows", "30", "-1 windows", "30 rows", "1.5 windows", "windows", "30  windows"])
def test_what_is_no_number_of_windows_is_refused(every):
    with pytest.raises(ValidationError, match="is no number of windows; right would be: 30 windows"):
        declare({"every": every})


def test_both_are_refused():
    with pytest.raises(ValidationError, match="schedule says when already; right would be: schedule or every"):
        declare({"schedule": "@daily", "every": "30 windows"})


def test_more_than_one_calibration_a_minute_is_refused():
    with pytest.raises(ValidationError, match=r"11 windows last 55 s, less than a minute; .* 12 windows, or more"):
        declare({"every": "11 windows"})


@pytest.mark.parametrize("slide", ["36000 d", "1 h"])
def test_less_than_one_calibration_in_a_hundred_years_is_refused(slide):
    with pytest.raises(ValidationError, match=r"999999 windows last longer than a hundred years; .* windows, or fewer"):
        declare({"every": "999999 windows"}, slide=slide)


def test_one_calibration_in_a_hundred_years_is_as_long_as_it_may_be():
    assert declare({"every": "876600 windows"}, slide="1 h").calibration.windows == 876_600
    with pytest.raises(ValidationError, match="right would be: 876600 windows, or fewer"):
        declare({"every": "876601 windows"}, slide="1 h")


@pytest.mark.parametrize("disorder", [{"policy": "k_slack", "k": "2 s"}, {"policy": "none"}])
def test_a_policy_that_takes_no_proposal_is_not_calibrated_by_schedule(disorder):
    with pytest.raises(ValidationError, match=r"takes no proposal of a calibration; .* policy: cache_duration"):
        declare({"every": "30 windows"}, disorder)


def test_a_query_of_another_policy_can_be_declared_by_its_own_dump():
    disorder = {"policy": "none"}
    dump = declare(None, disorder).model_dump(mode="json", exclude_none=True)
    assert "calibration" in dump
    assert declared_query(dump | {"disorder": disorder}) == declare(None, disorder)


def test_a_checkpoint_is_not_bound_to_it():
    assert declare({"every": "30 windows"}).structure() == declare(None).structure()
