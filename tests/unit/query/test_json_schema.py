"""The JSON Schema of query files against `query.loading.load`: both refuse the same files, as far as a schema can.

Each file is read twice: by load, and as by an editor, whose YAML parser converts words to numbers and booleans.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest
import yaml
from hypothesis import event, example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter

from kit.draws.kind_samples import SAMPLES
from kit.suite.examples import drawn
from tailrace.aggregate.named_section import NamedAggregateSection, NamedAggregatesSection
from tailrace.cli.commands import main
from tailrace.ground.duration import _UNIT_OF, Duration, parse_duration, parse_time_ms
from tailrace.ground.errors import Refused
from tailrace.ground.fields import NonNegativeDuration, Section
from tailrace.query.joins import EmdJoinQuery
from tailrace.query.json_schema import json_schema
from tailrace.query.loading import load
from tailrace.query.windowed import AggregateQuery, TopKQuery
from unit.query.test_loading import GOOD, WRONG, Wrong
from unit.query.test_query import SMALLEST

ROOT = Path(__file__).parents[3]
SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


class Core(yaml.SafeLoader):
    """A loader with the core schema of YAML 1.2, as editors use it."""


Core.yaml_implicit_resolvers = {}
for kind, pattern, first in [
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan", list("-+.0123456789")),
]:
    Core.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(f"^({pattern})$"), first)
Core.add_constructor(
    "tag:yaml.org,2002:int", lambda loader, node: int(node.value, 16 if node.value.startswith("0x") else 10)
)


def complaints(text: str) -> list[str]:
    """The messages of an editor about a file, from its YAML parser or from the schema."""
    try:
        return [error.message for error in VALIDATOR.iter_errors(yaml.load(text, Core))]
    except yaml.YAMLError as error:
        return [str(error)]


def refusals(path: Path, text: str) -> list[str]:
    path.write_text(text)
    try:
        load(path)
    except Refused as refused:
        return [problem.fault for problem in refused.problems]
    return []


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("queries") / "query.yaml"


# ---------------------------------------------------------------- the schema itself


def nodes(node: Any = SCHEMA) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
        yield from nodes(child)


def test_the_schema_is_valid_and_json() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA


def test_every_section_refuses_unknown_fields() -> None:
    sections = [SCHEMA, *SCHEMA["$defs"].values()]
    assert [section.get("additionalProperties") for section in sections] == [False] * len(sections)


def test_the_schema_has_no_unused_definitions_and_no_keywords_of_pydantic() -> None:
    assert {node["$ref"] for node in nodes() if "$ref" in node} == {f"#/$defs/{name}" for name in SCHEMA["$defs"]}
    known = {"patternErrorMessage"} | Draft202012Validator.VALIDATORS.keys()
    known |= {"$schema", "$defs", "title", "description", "default", "examples", "then"}
    sections = [SCHEMA, *SCHEMA["$defs"].values()]
    fields = [field for section in sections for field in section["properties"].values()]
    assert {key for node in [*sections, *fields] for key in node} <= known  # no keyword of pydantic's own
    assert [node["title"] for node in nodes() if "title" in node] == ["A tailrace query"]
    assert all(node.get("default", "") is not None for node in nodes())
    assert "References" not in json.dumps(SCHEMA)  # sections of the policies' docstrings are left out


def sections_of(model: type[BaseModel], schema: dict[str, Any]) -> Iterator[tuple[type[BaseModel], dict[str, Any]]]:
    """The sections below a model, with their part of the schema: one for all members of a union."""
    yield model, schema
    for name, field in model.model_fields.items():
        for inner in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if inner is NamedAggregatesSection:  # in a file its names stand in the section itself
                yield from sections_of(NamedAggregateSection, SCHEMA["$defs"][NamedAggregateSection.__name__])
            elif isinstance(inner, type) and issubclass(inner, Section):
                place = SCHEMA["$defs"].get(inner.__name__, SCHEMA["$defs"].get(name.capitalize()))
                yield from sections_of(inner, place)


def test_every_field_has_its_description() -> None:
    count = 0
    queries = (AggregateQuery, TopKQuery, EmdJoinQuery)
    for model, section in (pair for query in queries for pair in sections_of(query, SCHEMA)):
        for name, field in model.model_fields.items():
            assert field.description
            thens = [rule["then"].get("properties", {}).get(name) for rule in section.get("allOf", [])]
            declarations = [node for node in [section["properties"][name], *thens] if node and "description" in node]
            assert any(node["description"].startswith(field.description) for node in declarations)
            rules = [rule["then"].get("required", []) for rule in section.get("allOf", [])]
            required = any(name in names for names in (section.get("required", []), *rules))
            assert required or not field.is_required(), name
            assert field.is_required() or name not in section.get("required", [])
            count += 1
    assert count > 20


def test_examples_and_defaults_are_valid() -> None:
    count = 0
    for node in nodes():
        samples = node.get("examples", []) + ([node["default"]] if "default" in node else [])
        if isinstance(samples, list) and "description" in node:
            validator = VALIDATOR.evolve(schema=node)
            for value in samples:
                assert not list(validator.iter_errors(value)), (value, node)
                count += 1
    assert count > 15
    assert SCHEMA["properties"]["disorder"]["default"] == {"policy": "none", "deduplicate": False, "idle": "1 min"}
    assert SCHEMA["$defs"]["Bounds"]["properties"]["skew"]["default"] == "1 min"


# ---------------------------------------------------------------- right files


def right_files() -> dict[str, str]:
    files = {str(file.relative_to(ROOT)): file.read_text() for file in (ROOT / "include" / "queries").glob("*.y*ml")}
    files |= {
        f"kind {name}": yaml.safe_dump({k: v for k, v in SMALLEST.items() if k != "aggregate"} | sample)
        for name, sample in SAMPLES.items()
    }
    number = {"number": {"function": "count"}}
    sections = {
        "having by names": {**number, "having": "number > 2"},
        "having of one function": {"function": "count", "having": "value > 2"},
        "an aggregate named having": {**number, "having": {"function": "count"}},
    }
    files |= {name: yaml.safe_dump({**SMALLEST, "aggregate": section}) for name, section in sections.items()}
    return files | {"good": GOOD, "smallest": yaml.safe_dump(SMALLEST)}


@pytest.mark.parametrize("text", right_files().values(), ids=right_files().keys())
def test_an_example_is_valid_in_an_editor_too(path: Path, text: str) -> None:
    assert refusals(path, text) == []
    assert complaints(text) == []


@pytest.mark.parametrize("loader", [Core, yaml.SafeLoader], ids=["YAML 1.2", "YAML 1.1"])
def test_words_that_a_yaml_parser_converts_are_valid(path: Path, loader: type[yaml.SafeLoader]) -> None:
    text = (
        GOOD.replace("flight\n", "5\n").replace("origin", "on").replace("actual", "true").replace("scheduled", "12:30")
    )
    text = text.replace("delay}", "010}").replace("../../samples/flights", "2024").replace("flights\n", "no\n", 1)
    assert refusals(path, text) == []
    parsed = yaml.load(text, loader)
    assert parsed["streams"]["departures"]["id"] == 5
    assert list(VALIDATOR.iter_errors(parsed)) == []


# ---------------------------------------------------------------- wrong files


def test_a_function_whose_answers_are_no_doubles_needs_a_name(path: Path) -> None:
    text = yaml.safe_dump({**SMALLEST, "aggregate": {"function": "max_by", "column": "a", "by": "b"}})
    assert refusals(path, text)
    assert complaints(text)


class LoadOnly(NamedTuple):
    """A change to the good file that only load can refuse, not the schema, and parts of the message about it."""

    old: str
    new: str
    wrong: str


LOAD_ONLY = {
    "slide, size": LoadOnly("slide: 15 min", "slide: 2 h", "slide is longer than size"),
    "cron": LoadOnly("parallelism", "correction: {schedule: at noon}\nparallelism", "is no cron expression"),
    "fraction of a millisecond": LoadOnly("15 min", "0.5 ms", "not a whole number of milliseconds"),
    "a hundred years": LoadOnly("1 h, slide", "40000 d, slide", "longer than a hundred years"),
    "no such day": LoadOnly("key: origin", "bounds: {earliest: 2001-02-29}", "is no time"),
    "no such hour": LoadOnly("key: origin", "bounds: {earliest: 2001-02-28T25:00}", "is no time"),
    "repeated field": LoadOnly("parallelism: 2", "name: again", "stands twice"),
    "anchor": LoadOnly("name: flights", "name: &name flights", "anchors and aliases"),
    "tag": LoadOnly("name: flights", "name: !!str flights", "tags are not read"),
    "spelling of an integer": LoadOnly("parallelism: 2", "parallelism: 0x2", "'0x2' does not fit"),
    "spelling of a boolean": LoadOnly("name: flights", "name: True", "'True' does not fit"),
    "a number in quotes": LoadOnly("parallelism: 2", "parallelism: '65'", "'65' does not fit"),
    "not a number": LoadOnly("format: parquet", "format: replay, rate: .nan", "'.nan' does not fit"),
    "infinity": LoadOnly("format: parquet", "format: replay, rate: .inf", "'.inf' does not fit"),
    "a share in quotes": LoadOnly("avg", "quantile, q: '5'", "'5' does not fit"),
    "no share": LoadOnly("avg", "quantile, q: .nan", "'.nan' does not fit"),
}
# Messages about the cases of WRONG that only load can refuse.
LOAD_ONLY_MESSAGES = (
    "slide is longer than size",
    "more than 20,000",
    "is no cron expression",
    "stands twice",
    "is no time zone",
)


@pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{case.field}-{case.new}"[:60])
def test_the_schema_refuses_what_load_refuses(path: Path, case: Wrong) -> None:
    text = GOOD.replace(case.old, case.new, 1)
    problems = refusals(path, text)
    assert problems
    assert complaints(text) or any(part in problem for problem in problems for part in LOAD_ONLY_MESSAGES)


@pytest.mark.parametrize("case", LOAD_ONLY.values(), ids=LOAD_ONLY.keys())
def test_what_a_schema_cannot_express_is_refused_by_load_alone(path: Path, case: LoadOnly) -> None:
    assert case.old in GOOD
    text = GOOD.replace(case.old, case.new, 1)
    (wrong,) = refusals(path, text)
    assert case.wrong in wrong
    assert complaints(text) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (", column: delay", "", "'column' is a required property"),
        ("column: delay", "column:", "None is not of type 'string'"),
        ("avg", "quantile", "'q' is a required property"),
        ("avg", "median, q: 0.5", "0.5 is not of type 'null'"),
        ("avg", "quantile, q: 1", "1 is greater than or equal to the maximum"),
        ("avg", "quantile, q: 0", "0 is less than or equal to the minimum"),
        ("k: 30 min, ", "", "'k' is a required property"),
        ("k_slack", "none", "False schema does not allow '30 min'"),
        ("policy: k_slack, ", "", "'policy' is a required property"),
        ("format: parquet", "format: replay", "'rate' is a required property"),
        ("format: parquet", "format: delta, rate: 5", "5 is not of type 'null'"),
        ("format: parquet", "format: replay, rate: 0", "less than or equal to the minimum"),
        ("tick: 1 min", "idle: 0 s", "'0 s' does not match"),
        ("tick: 1 min", "tick: 60000", "60000 is not of type"),
        ("parallelism: 2", "parallelism: 2.5", "2.5 is not of type"),
        ("parallelism: 2", "parallelism: 65", "65 is greater than the maximum"),
        ("parallelism: 2", "parallelism:", "None is not of type"),
        ("name: flights", "name: 5", "5 is not of type"),
        ("key: origin", "bounds: {earliest: 2000}", "2000 is less than the minimum"),
        ("key: origin", "bounds: {earliest: 100000101}", "100000101 is greater than the maximum"),
        ("key: origin", "bounds: {earliest: 2000-13-01}", "does not match"),
    ],
)
def test_the_schema_names_the_problem(path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    assert refusals(path, text)
    assert any(message in complaint for complaint in complaints(text)), complaints(text)


def test_the_schema_requires_exactly_one_stream() -> None:
    stream = SMALLEST["streams"]["readings"]
    for number in range(4):
        streams = {f"s{i}": stream for i in range(number)}
        assert VALIDATOR.is_valid(SMALLEST | {"streams": streams}) == (number == 1)


# ---------------------------------------------------------------- generated files

LENGTHS = ["1 ms", "500 ms", "0.5 s", "2 Min", "1h", "5 seconds", "1 DAY", "' 3 s '"]
WAITS = [*LENGTHS, "0 ms", "0.0 s", "-0 s"]
COLUMNS = ["speed", "'with space'", "5", "1.5", "on", "true", "False", "010", "12:30", "'5'", "clé", "0x10", ".nan"]
EMPTY = ["null", "~", ""]
TIMES = ["2000-01-01", "20000101", "2000-01-01T06:30:00Z", "'2000-01-01 06:30+01:00'", "1999-W05"]
FUNCTIONS = ["sum", "count", "avg", "min", "max", "median", "quantile"]
SHARES = ["0.9", "5e-1", "'0.25'", ".1"]
RATES = ["1", "2e3", "0.5", "'7'", "1_000"]
JUNK = [*EMPTY, "''", "[a]", "{a: b}", "[]", "0", "65", "-1", "2.5", "many", "true", "'65'", "0x2", ".inf", "Aa"]
JUNK += ["1 fortnight", "-1 s", "0 s", "0.5 ms", "1 h 30 min", "none", "count", "yesterday", "2000-1-1", "2000-02-30"]
STRAYS = {"k": "2 s", "rate": "5", "column": "speed", "tick": "1 s", "tik": "1 s", "q": "0.9", "policy": "none"}
Tree = dict[str, Any]  # scalars as they are written


@st.composite
def right_trees(draw: st.DrawFn) -> Tree:
    """A valid file with any of the fields."""

    def some(**fields: list[str] | Tree) -> Tree:
        names = [name for name in fields if draw(st.booleans())]
        return {name: draw(st.sampled_from(of)) if isinstance(of := fields[name], list) else of for name in names}

    def pick(of: list[str]) -> str:
        return draw(st.sampled_from(of))

    form, function = pick(["parquet", "json", "delta", "replay"]), pick(FUNCTIONS)
    source = {"format": form, "path": pick(["data/in", "2024", "../x", "true"])}
    source |= {"rate": pick(RATES)} if form == "replay" else some(rate=EMPTY)
    stream = {"source": source, "event_time": pick(COLUMNS), "id": pick(COLUMNS)}
    stream |= some(
        key=COLUMNS + EMPTY,
        arrival_time=COLUMNS + EMPTY,
        timezone=["UTC", "Europe/Berlin", *EMPTY],
        bounds=some(earliest=TIMES, ahead=WAITS + EMPTY) or {"ahead": "0 s"},
    )
    size, slide = pick(["1 s", "1000 ms"]), pick(["1 s", "0.5 Sec", "7ms"])
    disorder = some(tick=WAITS + EMPTY, idle=LENGTHS)
    if policy := pick(["", "none", "k_slack", "mp_k_slack"]):
        disorder |= {"policy": policy} | ({"k": pick(WAITS)} if policy == "k_slack" else {})
    tree = {
        "name": pick(["loads", "a" * 63, "true", "on"]),
        "kind": "aggregate",
        "streams": {pick(["readings", "'5'", "clé"]): stream},
        "window": {"size": size, "slide": slide},
        "aggregate": {"function": function}
        | ({"column": pick(COLUMNS)} if function != "count" else some(column=COLUMNS + EMPTY))
        | ({"q": pick(SHARES)} if function == "quantile" else some(q=EMPTY)),
    }
    tree |= some(parallelism=["1", "64", "'2'", "2.0", "07"], correction={"schedule": pick(["0 0 * * *", "'@daily'"])})
    tree |= {"disorder": disorder} if disorder else {}
    return {name: tree[name] for name in draw(st.permutations(sorted(tree)))}


def sections(tree: Tree) -> Iterator[Tree]:
    yield tree
    for child in tree.values():
        if isinstance(child, dict):
            yield from sections(child)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """A valid file of which up to two fields were changed, left out or put in."""
    tree = draw(right_trees())
    for _ in range(draw(st.integers(0, 2))):
        section = draw(st.sampled_from(list(sections(tree))))
        change = draw(st.sampled_from(["junk", "drop", "stray"]))
        if change == "stray" or not section:
            name = draw(st.sampled_from(sorted(STRAYS)))
            section[name] = STRAYS[name]
        elif change == "drop":
            del section[draw(st.sampled_from(sorted(section)))]
        else:
            section[draw(st.sampled_from(sorted(section)))] = draw(st.sampled_from(JUNK))
    return tree


def with_empty(field: str) -> Tree:
    """A file of which one field of the stream is null."""
    source = {"format": "parquet", "path": "data/in"}
    return {
        "name": "loads",
        "kind": "aggregate",
        "streams": {"readings": {"source": source, "event_time": "at", "id": "id", field: "null"}},
        "window": {"size": "1 s"},
        "aggregate": {"function": "count"},
    }


def to_yaml(tree: Tree, indent: str = "") -> str:
    lines = []
    for name, value in tree.items():
        inner = f"\n{to_yaml(value, indent + '  ')}" if value and isinstance(value, dict) else f" {value}\n"
        lines.append(f"{indent}{name}:{inner}")
    return "".join(lines)


@drawn(200)
@given(right_trees())
def test_generated_right_files_are_valid_under_both(path: Path, tree: Tree) -> None:
    assert refusals(path, to_yaml(tree)) == []
    assert complaints(to_yaml(tree)) == []


@pytest.mark.slow
@drawn(500)
@given(trees())
@example(tree=with_empty("id"))
@example(tree=with_empty("timezone"))
def test_load_refuses_whatever_the_schema_refuses_of_generated_files(path: Path, tree: Tree) -> None:
    wrong, messages = refusals(path, to_yaml(tree)), complaints(to_yaml(tree))
    event("refused" if wrong else "right")
    if messages:
        assert wrong
    else:
        assert all(any(case.wrong in problem for case in LOAD_ONLY.values()) for problem in wrong)


# ---------------------------------------------------------------- durations and times


class DurationBounds(Section):
    """A section with a duration of each kind of bound."""

    gt: Annotated[Duration, Field(gt=timedelta(0))] = Field(description="more than nothing: 1 s")
    ge: NonNegativeDuration = Field(description="a wait: 1 s")
    free: Duration = Field(description="to either side: -15 min")


@drawn(500)
@given(
    st.sampled_from(["", " ", "-", "+", "--"]),
    st.from_regex(r"[0-9]{1,3}(\.[0-9]{0,3})?", fullmatch=True),
    st.sampled_from(["", " ", "  ", "_"]),
    st.sampled_from([*_UNIT_OF, "fortnights", "m", "", "secss"]).flatmap(
        lambda unit: st.sampled_from([unit, unit.upper(), unit.title(), f"{unit} "])
    ),
)
def test_the_pattern_of_a_duration_matches_what_is_parsed(sign: str, number: str, space: str, unit: str) -> None:
    text = f"{sign}{number}{space}{unit}"
    fields = json_schema(TypeAdapter(DurationBounds))["properties"]
    try:
        length = parse_duration(text)
    except ValueError as error:
        if "no duration" not in str(error):  # no whole number of ms, or too long: a pattern can't refuse these
            return
        fits = {"gt": False, "ge": False, "free": False}
    else:
        fits = {"gt": length > timedelta(0), "ge": length >= timedelta(0), "free": True}
    assert {name: bool(re.search(field["pattern"], text)) for name, field in fields.items()} == fits


@pytest.mark.slow
@drawn(500)
@given(
    st.from_regex(r"[12][0-9]{3}(-?[01][0-9]-?[0-3][0-9]|-?W[0-5][0-9](-?[0-9])?)", fullmatch=True),
    st.from_regex(
        r"([T _][0-2][0-9](:?[0-6][0-9]){0,2}([.,][0-9]{1,7})?(Z|[+-][0-2][0-9](:?[0-5][0-9])?)?)?", fullmatch=True
    ),
)
def test_every_time_that_is_parsed_matches_the_pattern(day: str, hour: str) -> None:
    try:
        parse_time_ms(day + hour)
    except ValueError:
        return
    assert re.search(SCHEMA["$defs"]["Bounds"]["properties"]["earliest"]["pattern"], day + hour)


# ---------------------------------------------------------------- the command


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["tailrace", "schema", *map(str, arguments)])
    with pytest.raises(SystemExit) as exit_info:
        main()
    return int(exit_info.value.code or 0)


def test_the_command_prints_or_writes_the_schema(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
    file = tmp_path / "query.schema.json"
    assert run(monkeypatch, "--output", file) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(file.read_text("utf-8")) == SCHEMA


def test_the_command_refuses_what_it_cannot_write(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch, "--output", tmp_path / "nowhere" / "x.json") == 2
    message = capsys.readouterr().err
    assert "there is no directory" in message
    assert "in a directory that exists" in message
    assert run(monkeypatch, "--output", tmp_path) == 2


@pytest.mark.parametrize("value", ["true", "False", "'true'", "yes", "off", "1", "0", "2", "maybe", "''", "[]", "'1'"])
def test_a_boolean_is_valid_where_it_is_loaded(path: Path, value: str) -> None:
    text = f"{json.dumps(SMALLEST)[:-1]}, disorder: {{policy: none, deduplicate: {value}}}}}\n"
    assert bool(complaints(text)) is bool(refusals(path, text)), refusals(path, text)
