"""Every query, command and statement on every page: queries are loaded, commands are run or parsed.

A page whose fenced blocks bring its files (`title="FILE"`) has its commands run, in order, in an empty directory; a
block `text` after them shows lines of what they print. Other commands are parsed by the command's own parser.
"""

from __future__ import annotations

import csv
import io
import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import sqlglot
import typer
import yaml
from jsonschema import Draft202012Validator

from checkout_commands import DEV
from docs_site import reference
from kit.suite.doc_pages import ROOT, WRITTEN, Block, blocks, indented_commands, inline_commands, words
from tailrace.cli.commands import app
from tailrace.drivers import spark_daemon
from tailrace.expressions import expression
from tailrace.ground.errors import Refused
from tailrace.query.json_schema import json_schema
from tailrace.query.loading import load
from unit.cli.conftest import tailrace
from unit.docs import other_programs

__all__ = ["tailrace"]

PAGES = WRITTEN | reference.pages()
BLOCKS = {page: blocks(text) for page, text in PAGES.items()}
LANGUAGES = {"yaml", "sh", "bash", "console", "csv", "json", "sql", "py", "python", "text", "ini", "toml", "html", ""}
COMMANDS = typer.main.get_command(app).commands
DEV_COMMANDS = typer.main.get_command(DEV.commands).commands
OFFLINE = {
    "init",
    "validate",
    "explain",
    "run",
    "correct",
    "results",
    "quality",
    "calibrate",
    "rebuild",
    "rescale",
    "plot",
    "schema",
}
"""The commands that end by themselves and need nothing but files; `run` does where it is bounded."""
LEAST = {"docs/tutorial-csv.md": 7, "docs/first-query.md": 3}
"""How many commands are run on a page at least, where it is more than one."""
MAKEFILE = (ROOT / "Makefile").read_text()
SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
EXAMPLES = sorted((ROOT / "include" / "examples").rglob("*.md"))
DIALECTS = ("duckdb", "postgres", "spark", "trino")


RUN = "docs/questions.md:"
"""The page whose statements are tailrace's own: they are run."""


def of(*languages: str) -> list[Any]:
    """The blocks in these languages, as parameters that are named by page and line."""
    found = [(page, block) for page, each in BLOCKS.items() for block in each if block.language in languages]
    return [pytest.param(block, id=f"{page}:{block.line}") for page, block in found]


def sections() -> list[dict[str, Any]]:
    """The properties of each section of a query file by its schema, those that only some members have included."""
    found, waiting = [], [SCHEMA]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            found += [node["properties"]] if isinstance(node.get("properties"), dict) else []
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return found


def refusals_of_part(name: str, value: Any) -> list[str]:
    """Why no section takes this field with this value; empty where one does. A part need not have all it requires."""
    nodes = [section[name] for section in sections() if isinstance(section.get(name), dict)]
    nodes = [node for node in nodes if node.keys() - {"description", "default", "examples"}]
    errors = [list(VALIDATOR.evolve(schema=node).iter_errors(value)) for node in nodes]
    found = [[error.message for error in each if error.validator != "required"] for each in errors]
    return [] if [] in found else found[0] if found else [f"no section has a field {name}"]


@pytest.mark.parametrize("page", BLOCKS)
def test_a_block_says_its_language(page):
    unknown = [f"{page}:{block.line}" for block in BLOCKS[page] if block.language not in LANGUAGES]
    unknown += [f"{page}:{block.line}" for block in BLOCKS[page] if not block.language and not block.is_shell]
    assert unknown == [], f"one of {LANGUAGES}"


@pytest.mark.parametrize("block", of("yaml"))
def test_a_query_is_loaded_and_a_part_of_one_fits_a_section(block, tmp_path):
    declared = yaml.safe_load(block.text)
    if declared.keys() >= {"name", "streams"}:
        file = tmp_path / Path(block.title or "query.yaml").name
        file.write_text(block.text)
        load(file)
        assert [error.message for error in VALIDATOR.iter_errors(declared)] == []
    else:
        assert {name: refusals_of_part(name, value) for name, value in declared.items()} == {
            name: [] for name in declared
        }


@pytest.mark.parametrize("block", of("json", "py", "python"))
def test_json_and_python_are_what_they_say(block):
    if block.language == "json":
        json.loads(block.text)
    else:
        compile(block.text, "page", "exec")


@pytest.mark.parametrize("block", [each for each in of("sql") if not each.id.startswith(RUN)])
def test_sql_is_sql_of_some_dialect(block):
    faults = []
    for dialect in DIALECTS:
        try:
            sqlglot.parse(block.text, dialect=dialect)
        except sqlglot.ParseError as fault:
            faults.append(str(fault))
    assert len(faults) < len(DIALECTS), faults


# ---------------------------------------------------------------- commands


def parse(parts: list[str], commands: dict[str, Any] = COMMANDS) -> None:
    """Parse a command's words by its parser: its options, their values, and what it requires."""
    if not parts or parts[0].startswith("-"):
        return
    command = commands[parts[0]]
    with command.context_class(command, info_name=parts[0]) as context:
        values, more, _ = command.make_parser(context).parse_args([*parts[1:]])
        assert not more, f"{' '.join(more)}: more than it takes"
        for option in command.params:
            assert values.get(option.name) or not option.required or option.envvar, f"{option.name} is missing"
            if option.name in values:
                option.process_value(context, values[option.name])


def fault_of(line: str) -> str | None:
    """Return what is wrong with a command line of a page."""
    try:
        parts = words(line)
        match parts:
            case ["tailrace", *rest]:
                parse(rest)
            case ["make", target, *settings]:
                recipe = re.search(rf"^{target}:.*\n(?:\t.*\n)*", MAKEFILE, re.MULTILINE)
                assert recipe, f"no target {target}"
                names = [each.partition("=")[0] for each in settings]
                unknown = [name for name in names if f"$({name})" not in recipe[0]]
                assert not unknown, f"{target} takes no {unknown}"
            case ["python" | ".venv/bin/python", "-m", module, *rest]:
                assert find_spec(module), f"no module {module}"
                if module == spark_daemon.__name__:
                    spark_daemon._parser().parse_args(rest)
            case [".venv/bin/python", "tools/dev.py", *rest]:
                parse(rest, DEV_COMMANDS)
            case ["python", file, *_]:
                assert (ROOT / file).exists(), f"no file {file}"
            case ["airflow", *_]:
                pass  # tests/orchestration/test_airflow_on_pages.py parses it
            case [program, *_]:
                assert other_programs.check(parts), f"no test knows how {program} is called so"
    except (Exception, SystemExit) as fault:  # argparse leaves by one
        return f"{line}: {getattr(fault, 'message', None) or fault!r}"
    return None


@pytest.mark.parametrize("page", [page for page, each in BLOCKS.items() if any(block.is_shell for block in each)])
def test_commands_are_such_as_there_are(page):
    lines = [line for block in BLOCKS[page] if block.is_shell for line in block.commands]
    assert [fault for fault in map(fault_of, lines) if fault] == []


@pytest.mark.parametrize("page", [*PAGES, *(str(file.relative_to(ROOT)) for file in EXAMPLES)])
def test_a_page_names_extras_that_there_are(page):
    assert other_programs.unknown_extras(PAGES.get(page) or (ROOT / page).read_text()) == set()


def test_commands_stand_in_fenced_blocks():
    assert {page: found for page, text in PAGES.items() if (found := indented_commands(text))} == {}
    text = "By\n\n    tailrace run a.yaml\n\n    ```sh\n    make demo\n    ```\n"
    assert indented_commands(text) == ["tailrace run a.yaml"]


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if inline_commands(text)])
def test_commands_in_the_text_have_options_that_there_are(page):
    wrong = []
    for line in inline_commands(PAGES[page]):
        names = [name for part in line.split()[1:2] for name in part.split("|") if re.fullmatch("[a-z]+", name)]
        known = {opt for name in names if name in COMMANDS for option in COMMANDS[name].params for opt in option.opts}
        options = [option for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", line) if option != "--help"]
        if [name for name in names if name not in COMMANDS] or (names and not known.issuperset(options)):
            wrong.append(line)
    assert wrong == []


# ---------------------------------------------------------------- pages that bring their files


def ends_by_itself(parts: list[str]) -> bool:
    """Whether a command needs nothing but files, and ends."""
    return parts[:1] == ["tailrace"] and parts[1] in OFFLINE and (parts[1] != "run" or "--bounded" in parts)


def brings_files(page: str) -> bool:
    """Whether a page has files, and commands that may be run with them."""
    lines = [words(line) for block in BLOCKS[page] if block.is_shell for line in block.commands]
    return any(block.title for block in BLOCKS[page]) and any(map(ends_by_itself, lines))


RUN = [page for page in PAGES if brings_files(page)]


def exit_code(command: str) -> int:
    """The exit code that a command's comment says; 0 where none does."""
    said = re.search(r"# exit code (\d+)$", command)
    return int(said[1]) if said else 0


def follow(page: str, tailrace: Any) -> int:
    """Do what a page says, in this directory: make its files, run its commands, compare what they print.

    Returns how many commands were run: those with a file that the page, or a command before, has made.
    """
    count, printed = 0, ""
    for block in BLOCKS[page]:
        if block.title:
            assert not Path(block.title).is_absolute()
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text)
        elif block.is_shell:
            printed = ""
            for command in block.commands:
                parts = words(command)
                if ends_by_itself(parts) and any(Path(part).is_file() for part in parts[2:]):
                    output = tailrace(*parts[1:], code=exit_code(command))
                    printed += output.stdout + output.stderr
                    count += 1
        if printed and block.language in ("text", "console"):
            lines = {line.strip() for line in printed.splitlines()}
            assert [line for line in block.output if line not in lines] == [], printed
    return count


@pytest.mark.parametrize("page", [page for page in RUN if page != "README.md"])
def test_a_page_that_brings_its_files_does_what_it_says(page, tailrace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAILRACE_ENGINE", "local")
    assert follow(page, tailrace) >= LEAST.get(page, 1)


def test_the_readme_does_what_it_says_and_shows_the_answers_of_its_example(tailrace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert follow("README.md", tailrace) == 3
    results = ("results", "sales.yaml", "--warehouse", "warehouse", "--format", "csv")
    found = []
    for version in ("stream", "corrected"):
        rows = csv.DictReader(io.StringIO(tailrace(*results, "--as-of", version).stdout))
        found.append({(row["key"], row["window_start"][11:16]): row["revenue"] for row in rows})
    shown = re.findall(r"^\| (\w+) \| (\d\d:\d\d) \| (\d+) \| \**(\d+)\** \|$", PAGES["README.md"], re.MULTILINE)
    assert shown == [(*key, before, found[1][key]) for key, before in found[0].items()]
    assert found[0] != found[1]


def refusals_without_sql(page: str, directory: Path) -> set[str]:
    """What the commands print for the queries of a page where the extra `sql` is missing."""
    found = set()
    for block in BLOCKS[page]:
        if block.language == "yaml" and block.title:
            file = directory / Path(block.title).name
            file.write_text(block.text)
            try:
                load(file)
            except Refused as refused:
                found.add(f"refused {refused}\n".replace(f"{directory}/", ""))
    return found


@pytest.mark.parametrize("page", RUN)
def test_a_page_whose_query_has_an_expression_says_which_extra_it_needs(page, tmp_path, monkeypatch):
    monkeypatch.setattr(expression, "missing_from", lambda _: "sqlglot is not installed")
    refusals = refusals_without_sql(page, tmp_path)
    assert refusals or page != "docs/tutorial-csv.md"
    if refusals:
        assert refusals <= {block.text for block in BLOCKS["docs/install.md"]}
        assert "pip install 'tailrace[sql]'" in PAGES[page]


def test_the_tutorial_and_the_readme_are_run_and_most_commands_are_ours():
    assert {"README.md", *LEAST} <= {*RUN}
    lines = [words(line) for each in BLOCKS.values() for block in each if block.is_shell for line in block.commands]
    assert sum(parts[:1] == ["tailrace"] for parts in lines) > len(lines) / 2


def test_the_check_of_a_block_finds_what_is_wrong():
    text = '```yaml title="a.yaml"\nname: a\n```\n\n```console\n$ tailrace run a.yaml --bonded\nread 5\n```\n'
    declared, shell = blocks(text)
    assert (declared.title, declared.text, shell.line) == ("a.yaml", "name: a\n", 5)
    assert (shell.commands, shell.output) == (["tailrace run a.yaml --bonded"], ["read 5"])
    assert "--bonded" in fault_of(shell.commands[0])
    assert "warehouse" not in fault_of("tailrace correct a.yaml --from")
    assert "file is missing" in fault_of("tailrace correct --warehouse wh")
    assert all(map(fault_of, ["make dmeo", "python tools/none.py", "tailrca run", "python -m tailrace.none"]))
    assert "ten" in fault_of("tailrace quarantine flights --limit ten")
    assert "locl" in fault_of("tailrace run a.yaml --engine locl")
    assert "b.yaml: more" in fault_of("tailrace run a.yaml b.yaml")
    assert fault_of("python -m tailrace.drivers.spark_daemon worker --host HOST")
    assert "KAFK" in fault_of("make demo KAFK=1")
    assert "--user" in fault_of("pip install --user 'tailrace[sql]'")
    assert "--wiat" in fault_of("docker compose up --wiat kafka")
    assert "compose lgos" in fault_of("docker compose lgos kafka")
    assert "redis" in fault_of("docker compose up -d kafka redis")
    assert "TAILRACE_WAREHOSE" in fault_of("export TAILRACE_WAREHOSE=wh")
    assert "no value" in fault_of("export TAILRACE_WAREHOUSE")
    assert ".env.sample" in fault_of("cp .env.sample .env")
    assert "curl" in fault_of("curl http://localhost:8080/api/v2/dags")
    assert other_programs.unknown_extras("'tailrace[sql,plot]', tailrace[kafka]") == {"plot"}
    assert all([refusals_of_part("alerts", {"lagg": {}}), refusals_of_part("alert", {})])
    assert inline_commands("`tailrace run --x`, ``tailrace`` and\n```sh\n`tailrace stop`\n```\n") == [
        "tailrace run --x"
    ]
    assert isinstance(declared, Block)
