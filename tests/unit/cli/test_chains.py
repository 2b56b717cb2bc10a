"""The chain of a query: drawn from the query files beside it, and refused where it is a cycle."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kit.runs.chained_queries import declarations
from tailrace.ground.errors import Refused
from tailrace.query.chain import chain_of
from tailrace.query.loading import load


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    """The files of the three queries; that of `hourly` is named otherwise."""
    found = {}
    for fields in declarations(tmp_path / "in"):
        found[fields["name"]] = tmp_path / f"{fields['name'].replace('hourly', 'by_hour')}.yaml"
        found[fields["name"]].write_text(yaml.safe_dump(fields))
    (tmp_path / "broken.yaml").write_text("name: [")
    return found


def reads(file: Path, query: str) -> None:
    """Let the query of a file read the answers of another one."""
    fields = yaml.safe_load(file.read_text())
    (stream,) = fields["streams"].values()
    stream["source"] = {"format": "tailrace", "query": query}
    for name in ("arrival_time", "id"):
        stream.pop(name, None)
    fields["disorder"]["deduplicate"] = True
    stream["event_time"] = "window_start"
    file.write_text(yaml.safe_dump(fields))


def test_a_chain_goes_from_the_first_stream_to_the_query(files):
    assert chain_of(load(files["best"]), files["best"]) == ("events", "revenue", "hourly", "best")
    assert chain_of(load(files["revenue"]), files["revenue"]) == ("events", "revenue")


def test_a_query_without_a_file_is_the_first(files):
    files["hourly"].unlink()
    assert chain_of(load(files["best"]), files["best"]) == ("hourly", "best")


@pytest.mark.parametrize("name", ["revenue", "hourly", "best"])
def test_a_cycle_is_refused_by_its_field(files, name):
    reads(files["revenue"], "best")
    with pytest.raises(Refused) as refused:
        chain_of(load(files[name]), files[name])
    (problem,) = refused.value.problems
    assert problem.where.startswith(f"{files[name]}: streams.")
    assert problem.where.endswith(".source.query")
    cycle = problem.fault.removeprefix("the queries read each other's answers: ").split(" → ")
    assert (cycle[0], cycle[-1]) == (name, name)
    assert sorted(cycle[1:]) == ["best", "hourly", "revenue"]


def test_a_cycle_above_the_query_is_refused(files):
    reads(files["revenue"], "hourly")
    with pytest.raises(Refused, match=r"hourly → revenue → hourly|revenue → hourly → revenue"):
        chain_of(load(files["best"]), files["best"])


def test_explain_draws_the_chain_and_validate_and_run_refuse_a_cycle(tailrace, files):
    plan, _, _ = tailrace("explain", files["best"]).stdout.partition("\n\n")
    lines = dict(line.split(maxsplit=1) for line in plan.splitlines())
    assert lines["chain"] == "events → revenue → hourly → best"
    assert "chain" not in tailrace("explain", files["revenue"]).stdout.partition("\n\n")[0]
    tailrace("validate", *files.values())
    reads(files["revenue"], "best")
    for command in ("validate", "explain", "run"):
        warehouse = ("--warehouse", files["best"].parent / "wh") if command == "run" else ()
        said = tailrace(command, files["best"], *warehouse, code=2).stderr
        assert "best → revenue → hourly → best" in said
        assert "right would be: a chain without a cycle" in said
