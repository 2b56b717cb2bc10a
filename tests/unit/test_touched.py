"""`make touched` chooses the tests that a change can turn red, in a small tree made up here and in this one."""

from __future__ import annotations

import json
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from guards import Guard, read_guards
from rooms import TOOLS
from tailrace.ground.errors import Refused
from touched import __main__ as main
from touched import changes, choice, imports, seconds, table

ROOT = Path(__file__).parents[2]
GATE = "tests/gate/test_kinds.py"
SMALL = {
    "docs/kafka.md": "",
    "include/tailrace/__init__.py": "",
    "include/tailrace/ground/__init__.py": "",
    "include/tailrace/ground/words.py": "",
    "include/tailrace/windows/panes.py": "def panes():\n    from tailrace.ground import words\n    return words\n",
    "tests/conftest.py": "import examples\nimport tailrace.ground.words\n",
    "tests/examples.py": "",
    "tests/streams.py": "try:\n    def f():\n        from tailrace.windows.panes import panes\nfinally:\n    ...\n",
    "tests/far_streams.py": "import streams",
    "tests/broker.py": "",
    "tests/kafka/conftest.py": "from broker import broker",
    "tests/kafka/test_topic.py": "from pytest import mark",
    GATE: "",
    "tests/properties/test_far.py": "from far_streams import drawn",
    "tests/unit/test_words.py": "",
    "tests/unit/windows/test_sizes.py": "PAGE = 'docs/kafka.md'",
    "tests/unit/windows/test_cuts.py": "PANES = 'tailrace.windows.panes.panes'",
    "tests/unit/ground/test_others.py": "from tailrace.ground.words import Word",
}
KAFKA, FAR, SIZES, CUTS, WORDS, OTHERS = (
    f"tests/{name}.py"
    for name in (
        "kafka/test_topic",
        "properties/test_far",
        "unit/windows/test_sizes",
        "unit/windows/test_cuts",
        "unit/test_words",
        "unit/ground/test_others",
    )
)
EVERY = {GATE, KAFKA, FAR, SIZES, CUTS, WORDS, OTHERS}


@pytest.fixture
def tree(tmp_path):
    """A directory with a small tree."""
    for name, text in SMALL.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture(scope="module")
def chosen_here():
    """Chooses the tests of this tree for files of it that have changed."""
    known = imports.Imports(ROOT)
    return lambda *changed: choice.Choice(ROOT, changed, known, read_guards())


def chosen(tree, *changed, guards=()):
    gone = [path for path in changed if not (tree / path).exists()]
    return choice.Choice(tree, changed, imports.Imports(tree, gone), guards)


# ---------------------------------------------------------------- a small tree


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("include/tailrace/windows/panes.py", {FAR, SIZES, CUTS}),  # by two helpers, and of the room
        ("include/tailrace/ground/words.py", {WORDS, OTHERS, CUTS}),  # by its name; of the panes, their own
        ("tests/far_streams.py", {FAR}),
        ("tests/streams.py", {FAR}),
        ("tests/broker.py", {KAFKA}),
        ("tests/kafka/conftest.py", {KAFKA}),
        ("tests/examples.py", EVERY),
        ("tests/conftest.py", EVERY),
        ("pyproject.toml", EVERY),
        ("include/tailrace/sources/kafka/kafka_feed.py", {KAFKA}),
        ("docs/kafka.md", {SIZES}),
        ("tools/words.py", {WORDS}),
        (WORDS, {WORDS}),
        ("tests/durations.json", set()),
        ("LICENSE", set()),
    ],
)
def test_a_change_touches_its_tests_and_always_the_gate_s_own(tree, changed, tests):
    assert {*chosen(tree, changed).tests} == tests | {GATE}


def test_what_is_gone_touches_those_that_import_it_and_no_test_that_is_gone(tree):
    (tree / "include/tailrace/windows/panes.py").unlink()
    (tree / SIZES).unlink()
    found = chosen(tree, "include/tailrace/windows/panes.py", SIZES, "tests/no_helper.py")
    assert found.tests == [GATE, FAR, CUTS]


def test_a_guard_in_what_has_changed_chooses_its_tests(tree):
    guard = Guard("include/tailrace/ground/words.py", "a", "b", (f"{KAFKA}::test_a[1]", "tests/test_gone.py"))
    found = chosen(tree, "include/tailrace/ground/words.py", guards=[guard])
    assert found.reasons["hold a guard in what has changed of ground"] == {KAFKA}
    assert KAFKA not in chosen(tree, "include/tailrace/windows/panes.py", guards=[guard]).tests


def test_a_choice_says_why_and_how_long(tree):
    (tree / "tests/durations.json").write_text(json.dumps({GATE: 60, SIZES: 240, FAR: 120, CUTS: 60}))
    found = chosen(tree, "include/tailrace/windows/panes.py")
    taken = seconds.Seconds(tree, EVERY)
    assert main.report(found, taken, 2, with_tests=False).splitlines() == [
        "changed: include/tailrace/windows/panes.py",
        "    2  are of the room windows",
        "    2  import what has changed of windows",
        "    1  are the gate's own: every kind on Spark, DAG files, the command line",
        "    1  draw whole queries, and hold their corrections and promises",
        "4 test files, some 4 min by tests/durations.json on 2 processes",
    ]
    assert f"room windows\n           {CUTS}\n           {SIZES}\n" in main.report(found, taken, 2, with_tests=True)


def test_a_group_s_seconds_are_shared_by_its_files_and_one_process_has_them(tmp_path):
    marks = "pytestmark = pytest.mark.xdist_group({!r})\n"
    for name, text in {
        "a/test_one.py": marks.format("desk").replace("'", '"'),
        "a/test_two.py": marks.format("desk").replace("'", '"'),
        "b/test_three.py": "",
        "b/conftest.py": 'BOTH = ("first", "second")\nmark = pytest.mark.xdist_group(BOTH[0])\nNAME = "desk of none"',
        "c/test_four.py": "",
        "durations.json": json.dumps({"desk": 100, "first": 30, "second": 50, "tests/d.py": 1, "tests/e.py": 2}),
    }.items():
        path = tmp_path / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    one, two, three, four = (f"tests/{name}.py" for name in ("a/test_one", "a/test_two", "b/test_three", "c/test_four"))
    taken = seconds.Seconds(tmp_path, [one, two, three, four])
    assert [taken.of([each]) for each in (one, three, four)] == [50, 80, 30]  # 30 is the median
    assert taken.of([one, two, four], 1) == 130
    assert taken.of([one, two, four], 2) == 100  # the group has one process
    assert taken.of([three], 2) == 40  # two groups have two
    assert taken.of([]) == 0


# ---------------------------------------------------------------- this tree


def test_every_room_has_tests_beyond_the_gate_s(chosen_here):
    places = [
        *(ROOT / "include" / "tailrace").glob("*/__init__.py"),
        *(ROOT / "tools" / room / "__init__.py" for room in TOOLS),
    ]
    rooms = sorted(path.relative_to(ROOT).as_posix() for path in places)
    assert len(rooms) > 30
    for room in rooms:
        found = chosen_here(room).tests
        assert [test for test in found if not test.startswith("tests/gate/")], room


def test_every_pattern_of_the_table_has_files(chosen_here):
    rows = (table.ALWAYS, *table.TABLE)
    firsts = {pattern.partition("/")[0] for row in rows for pattern in (*row.files, *row.tests)} - {"*"}
    paths = [
        path.relative_to(ROOT).as_posix()
        for first in firsts
        for path in ((ROOT / first).rglob("*") if (ROOT / first).is_dir() else [ROOT / first])
        if path.is_file()
    ]
    for row in rows:
        for pattern in (*row.files, *row.tests):
            assert any(fnmatchcase(path, pattern) for path in paths), pattern


def test_every_guard_chooses_its_tests(chosen_here):
    guards = read_guards()
    files = {guard.path for guard in guards}
    reasons = chosen_here(*files).reasons
    held = {test.partition("::")[0] for guard in guards for test in guard.tests}
    assert held <= set().union(*reasons.values())
    assert held >= set().union(*(tests for reason, tests in reasons.items() if reason.startswith("hold a guard")))


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        (
            "include/tailrace/console/rights.py",
            ["orchestration/test_console_routes", "pages/test_routes", "pages/test_actions"],
        ),
        ("include/tailrace/panels/quarantine.py", ["orchestration/test_console_routes", "pages/test_routes"]),
        ("include/tailrace/operators/window.py", ["unit/operators/test_window", "contract/test_kinds"]),
        ("include/tailrace/stream/entry_writer.py", ["unit/stream/test_batch_planner", "spark/test_kill"]),
        ("include/tailrace/ground/fields.py", ["unit/query/test_window_section", "unit/aggregate/test_named_section"]),
        ("include/tailrace/delivery/postgres_copy.py", ["answers_postgres/test_copy"]),
        ("include/tailrace/ground/files/object_path.py", ["objects/test_object_path"]),
        ("include/tailrace/drivers/yarn.py", ["yarn/test_cluster_mode", "orchestration/test_cluster_platforms"]),
        ("docker-compose.yaml", ["e2e/test_compose", "unit/deploy/test_compose"]),
        ("dags/streams.py", ["dags/test_integrity", "gate/test_dag_files"]),
        ("spark_apps/stream.py", ["spark/test_app"]),
        ("include/queries/flights.yaml", ["e2e/test_platform", "unit/demo/test_walkthrough"]),
        ("samples/flights/part-00000.parquet", ["unit/test_samples", "spark/test_app"]),
        ("tests/kit/console/rights.py", ["pages/test_routes", "pages/test_actions"]),
        ("Makefile", ["unit/docs/test_blocks"]),
        ("tools/setup.sh", ["unit/test_setup"]),
    ],
)
def test_what_has_changed_here_chooses_the_tests_that_hold_it(chosen_here, changed, tests):
    assert {f"tests/{test}.py" for test in tests} <= {*chosen_here(changed).tests}


# ---------------------------------------------------------------- what git knows


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Runs git in a repository of three files on its branch main."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)

    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--initial-branch=main")
    for name in ("kept", "gone", "moved"):
        (tmp_path / f"{name}.py").write_text(f"a line of {name}\n")
    (tmp_path / ".gitignore").write_text("*.log\n")
    git("add", ".")
    git("commit", "-m", "first")
    return git


@pytest.mark.needs("process")
def test_changes_are_those_of_the_branch_and_of_the_working_tree(repository, tmp_path):
    assert changes.changed_since(tmp_path, changes.base_of(tmp_path, None)) == set()
    repository("switch", "-c", "branch")
    (tmp_path / "gone.py").unlink()
    repository("mv", "moved.py", "there.py")
    repository("commit", "-am", "second")
    (tmp_path / "kept.py").write_text("another line\n")
    (tmp_path / "of the día.py").write_text("")
    (tmp_path / "new.log").write_text("")
    of_branch = {"gone.py", "moved.py", "there.py"}
    of_tree = {"kept.py", "of the día.py"}
    assert changes.changed_since(tmp_path, changes.base_of(tmp_path, None)) == of_branch | of_tree
    assert changes.changed_since(tmp_path, changes.base_of(tmp_path, "HEAD")) == of_tree
    repository("branch", "-m", "main", "other")  # no main to compare with
    assert changes.changed_since(tmp_path, changes.base_of(tmp_path, None)) == of_tree


@pytest.mark.needs("process")
def test_a_commit_that_git_does_not_know_is_refused(repository, tmp_path, capsys):
    for unknown in ("0123456", "--all", ""):
        with pytest.raises(Refused, match=f"git knows no commit {unknown}"):
            changes.base_of(tmp_path, unknown)
    assert main.main(["--since", "0123456"], tmp_path) == 2
    assert "right would be: a commit" in capsys.readouterr().err


@pytest.mark.needs("process")
def test_nothing_changed_runs_nothing(repository, tmp_path, capsys):
    assert main.main([], tmp_path) == 0
    assert capsys.readouterr().out.startswith("nothing has changed since ")


@pytest.mark.needs("process")
@pytest.mark.parametrize(("text", "code"), [("assert True", 0), ("assert False", 1)])
def test_the_exit_code_is_pytest_s(tree, repository, capfd, text, code):
    (tree / "tests/durations.json").write_text("{}")
    (tree / GATE).write_text(f"def test_it():\n    {text}\n")
    assert main.main(["--processes", "1"], tree) == code
    assert main.main(["--list"], tree) == 0
    assert "some 1 min by tests/durations.json" in capfd.readouterr().out
