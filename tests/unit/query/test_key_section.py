"""The field `key` of a stream: a column, or a list of columns, whose names answers get."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from tailrace.ground.errors import Refused
from tailrace.kinds import build
from tailrace.panels.explanation import explanation
from tailrace.query.differences import differences
from tailrace.query.loading import load
from tailrace.query.query import Query
from unit.query.test_json_schema import complaints
from unit.query.test_loading import GOOD, write

TOPK = GOOD.replace("kind: aggregate", "kind: topk").replace(
    "aggregate: {function: avg, column: delay}", "topk: {k: 3, score: delay}"
)


def query_with(tmp_path: Path, key: str, text: str = GOOD) -> Query:
    return load(write(tmp_path, text.replace("key: origin", f"key: {key}")))


@pytest.mark.parametrize("text", [GOOD, TOPK], ids=["aggregate", "topk"])
def test_answers_have_columns_of_the_names_in_a_list(tmp_path: Path, text: str) -> None:
    query = query_with(tmp_path, "[origin, 5]", text)
    assert query.key_names == ("origin", "5")
    assert build(query).answer.names[:5] == ["key", "origin", "5", "window_start", "window_end"]
    assert complaints(text.replace("key: origin", "key: [origin, 5]")) == []
    assert query.structure()["streams.departures.key"] == ["origin", "5"]


def test_a_single_column_names_none(tmp_path: Path) -> None:
    query = query_with(tmp_path, "origin")
    assert query.key_names == ()
    assert build(query).answer.names[:2] == ["key", "window_start"]
    (difference,) = differences(query, query_with(tmp_path, "[origin]"))
    assert str(difference) == "streams.departures.key: origin → [origin]"


@pytest.mark.parametrize(
    ("key", "fault", "remedy"),
    [
        ("[]", "0 columns are no key", "1 to 16 columns, or no key"),
        (f"[{', '.join(f'c{i}' for i in range(17))}]", "17 columns are no key", "1 to 16"),
        ("['']", "does not fit", "key: sensor"),
        ("[origin, [a]]", "does not fit", "key: sensor"),
        ("[origin, ORIGIN]", "answers have a column ORIGIN already", "each once"),
        ("[key]", "answers have a column key already", "or key alone"),
        ("[Value]", "answers have a column Value already", "or Value alone"),
        ("[window_end]", "answers have a column window_end already", "or window_end alone"),
        ("[facts_version]", "answers have a column facts_version already", "alone"),
        ("[emitted_at]", "answers have a column emitted_at already", "alone"),
        ("[my key]", "tables have no column 'my key'", "or 'my key' alone"),
    ],
)
def test_a_list_that_can_name_no_columns_is_refused(tmp_path: Path, key: str, fault: str, remedy: str) -> None:
    with pytest.raises(Refused) as refusal:
        query_with(tmp_path, key)
    (problem,) = refusal.value.problems
    assert problem.where.endswith(":9: streams.departures.key")
    assert fault in problem.fault
    assert remedy in problem.remedy


@pytest.mark.parametrize("name", ["rank", "id", "score"])
def test_a_ranking_has_other_columns_than_an_aggregate(tmp_path: Path, name: str) -> None:
    query_with(tmp_path, f"[{name}]")
    with pytest.raises(Refused, match=f"answers have a column {name} already"):
        query_with(tmp_path, f"[{name}]", TOPK)


def test_joins_take_no_list_either(tmp_path: Path) -> None:
    joined = yaml.safe_load(GOOD)
    stream = joined["streams"]["departures"]
    left = stream | {"key": ["origin"]}
    del joined["aggregate"], joined["disorder"]
    right = {name: dict(part) if isinstance(part, dict) else part for name, part in stream.items() if name != "key"}
    joined |= {"kind": "emd_join", "streams": {"left": left, "right": right}, "window": {"size": "1 d"}}
    joined |= {"emd_join": {"threshold": 0.5, "histogram": "h"}}
    with pytest.raises(Refused, match="kind emd_join takes no key"):
        load(write(tmp_path, yaml.safe_dump(joined)))
    joined["streams"]["left"] = deepcopy(right) | {"null_key": "quarantine"}
    with pytest.raises(Refused, match=r"left\.null_key: the stream has no key[^\n]*\n.*kind aggregate or topk"):
        load(write(tmp_path, yaml.safe_dump(joined)))


def test_what_becomes_of_nulls_is_declared_beside_a_key_and_explained(tmp_path: Path) -> None:
    declared = yaml.safe_load(GOOD)
    for null_key, words in ((None, "group of its own"), ("group", "group of its own"), ("quarantine", "quarantine")):
        declared["streams"]["departures"] |= {"null_key": null_key}
        query = load(write(tmp_path, yaml.safe_dump(declared)))
        assert words in explanation(query)["null key"]
        assert query.structure()["streams.departures.null_key"] == (null_key or "group")
    declared["streams"]["departures"] |= {"null_key": "none"}
    with pytest.raises(Refused, match="one of group, quarantine"):
        load(write(tmp_path, yaml.safe_dump(declared)))
    declared["streams"]["departures"] |= {"null_key": "group", "key": None}
    with pytest.raises(Refused, match="the stream has no key"):
        load(write(tmp_path, yaml.safe_dump(declared)))
