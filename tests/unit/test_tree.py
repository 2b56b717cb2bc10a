"""The rules of `make tree`, on small trees made up here: whether this tree keeps them, `make tree` says itself."""

from __future__ import annotations

import json

import pytest

from guards import Guard
from tree import derived, derived_texts, guard_texts, language, lengths, pages

PAGE = """\
Before

<!-- numbers: make tree MEND=1 writes them -->

one
two

<!-- end of numbers -->

After
"""


@pytest.fixture
def write(tmp_path):
    """Writes files of a tree, by their paths."""

    def write_files(**files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write_files


def said(problems):
    return [(problem.where, problem.fault) for problem in problems]


# ---------------------------------------------------------------- texts that follow from code


def numbers(text):
    return derived.Derived("page.md", lambda _: text, "numbers")


def test_a_stale_part_is_named_by_its_first_line_and_written(tmp_path, write):
    write(**{"page.md": PAGE})
    assert said(numbers("one\ntwo").problems(tmp_path)) == []
    (problem,) = numbers("one\n2\n3").problems(tmp_path)
    assert (problem.where, problem.fault.split()[0], problem.remedy.split()[0]) == ("page.md:6", "'two'", "'2'")
    assert numbers("one\n2\n3").mend(tmp_path)
    assert (tmp_path / "page.md").read_text() == PAGE.replace("two", "2\n3")
    assert not numbers("one\n2\n3").mend(tmp_path)


@pytest.mark.parametrize("marker", ["<!-- numbers: make tree MEND=1 writes them -->", "<!-- end of numbers -->"])
def test_a_page_without_a_marker_is_said_and_stays(marker, tmp_path, write):
    text = PAGE.replace(marker, "")
    write(**{"page.md": text})
    assert said(numbers("one").problems(tmp_path)) == [("page.md", "the numbers have no markers")]
    assert not numbers("one").mend(tmp_path)
    assert (tmp_path / "page.md").read_text() == text


def test_a_whole_file_follows_from_its_own_text(tmp_path, write):
    write(**{"page.md": "a\nb\n"})
    upper = derived.Derived("page.md", str.upper)
    assert upper.mend(tmp_path)
    assert (tmp_path / "page.md").read_text() == "A\nB\n"
    assert [*upper.problems(tmp_path)] == []


def test_the_part_that_code_writes_is_not_by_hand():
    assert derived.by_hand(PAGE) == "Before\n\nAfter\n"


# ---------------------------------------------------------------- rules


def test_long_files_are_named_and_parts_that_code_writes_do_not_count(tmp_path, write):
    write(**{"include/tailrace/a/long.py": "x = 1\n" * 401, "include/tailrace/a/short.py": "x = 1\n" * 400})
    write(**{"docs/long.md": "word\n" * 121, "docs/table.md": PAGE.replace("two", "two\n" * 200)})
    assert said(lengths.long_files(tmp_path)) == [
        ("include/tailrace/a/long.py:401", "has 401 lines, more than 400"),
        ("docs/long.md:121", "has 121 lines, more than 120"),
    ]


def test_a_readme_has_few_words_a_short_query_and_four_pictures(tmp_path, write):
    good = "<picture>" * 4 + "\n\n```yaml\nname: a\n```\n"
    write(**{"README.md": good})
    assert [*lengths.long_readme(tmp_path)] == []
    write(**{"README.md": good.replace("name: a\n", "name: a\n" * 13) + "word " * 900 + "<picture>"})
    found = said(lengths.long_readme(tmp_path))
    assert [where for where, _ in found] == ["README.md", "README.md:3", "README.md"]
    assert [fault.partition(" of ")[0] for _, fault in found] == ["has 930 words", "a query", "has 5 pictures"]


def test_docstrings_begin_with_a_verb_but_for_a_tenth(tmp_path, write):
    verbs = "".join(f'def f{number}():\n    """Return it."""\n' for number in range(9))
    other = 'def other():\n    """The other."""\n'
    write(
        **{"include/tailrace/a.py": verbs + other + 'def plain():\n    pass\n@property\ndef p():\n    """Whose."""\n'}
    )
    assert [*language.docstrings(tmp_path)] == []
    write(**{"include/tailrace/b.py": other})
    (problem,) = language.docstrings(tmp_path)
    assert "of 11 docstrings of functions 2 begin with no verb" in problem.fault
    assert "include/tailrace/b.py:1 other" in problem.fault


def test_a_word_that_makes_riddles_is_counted_over_code_and_pages(tmp_path, write):
    write(**{"README.md": "", "docs/a.md": "It tells.\n" * 20, "include/tailrace/a.py": '"""It told."""\n' * 20})
    assert [*language.exceptions(tmp_path)] == []
    write(**{"README.md": "\nWho tells?\n"})
    (problem,) = language.exceptions(tmp_path)
    assert "41 times, more than 40" in problem.fault


ROW = "include/tailrace/a/b.py\tif a:\tif True:\ttests/test_b.py::test_b[1]"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (ROW, None),
        (ROW.replace("if a:", "if a:⏎    return 1⏎"), None),
        (ROW.replace("if a:", "if c:"), "include/tailrace/a/b.py has 'if c:' 0 times"),
        (ROW.replace("if a:", "return"), "include/tailrace/a/b.py has 'return' 2 times"),
        (ROW.replace("/b.py", "/c.py"), "include/tailrace/a/c.py has 'if a:' 0 times"),
        (ROW.replace("if True:", "if a:"), "its replacement is its text"),
        (ROW.rpartition("\t")[0], "no test goes red without it"),
        (f"{ROW}\ttests/test_c.py", "there is no file tests/test_c.py"),
        (ROW.replace("test_b[1]", "test_c"), "tests/test_b.py has no test_c"),
        (f"{ROW}\n{ROW}", "the line before is the same guard"),
        (f"{ROW.replace('a/b.py', 'b/b.py')}\n{ROW}", "include/tailrace/a/b.py stands behind include/tailrace/b/b.py"),
    ],
)
def test_a_guard_has_its_text_once_and_its_tests(row, fault, tmp_path, write):
    for room in "ab":
        write(**{f"include/tailrace/{room}/b.py": "if a:\n    return 1\nreturn 2\n"})
    write(**{"tests/test_b.py": "def test_b(n): pass\n", "tools/guards.tsv": f"{row}\n"})
    last = f"tools/guards.tsv:{len(row.splitlines())}"
    assert said(guard_texts.guards(tmp_path)) == ([(last, fault)] if fault else [])


def test_a_guard_is_named_by_what_changes_without_it():
    guard = Guard.from_line("include/tailrace/a/b.py\tif a:⏎    return\t\ttests/test_b.py")
    assert guard.name == "a/b.py: if a: return → nothing"
    assert guard.text == "if a:\n    return"


def test_pages_lack_what_only_the_code_has(tmp_path, write):
    write(**{"docker-compose.yaml": "", "include/tailrace/cli/a.py": 'CLOSED_PIPE = 141\nget("TAILRACE_NEW")\n'})
    write(**{"docs/environment.md": "`TAILRACE_OLD`\n", "docs/exit-codes.md": "| 0 | a |\n| 1 | b |\n| 2 | c |\n"})
    write(**{"pyproject.toml": "[project.optional-dependencies]\nsql = []\nemd = []\n"})
    write(**{"docs/install.md": "| `sql`, `old` | x |\n"})
    found = [each for rule in (pages.environment_variables, pages.exit_codes, pages.extras) for each in rule(tmp_path)]
    assert said(found) == [
        ("docs/environment.md", "the environment variable TAILRACE_NEW is missing"),
        ("docs/exit-codes.md", "the exit code 141 is missing"),
        ("docs/install.md", "the extra emd is missing"),
        ("docs/install.md", "the extra old is not declared, or stands there twice"),
    ]


def test_a_word_stands_in_one_glossary_and_links_are_whole(tmp_path, write):
    row = "| term | meaning |\n| --- | --- |\n| {} | what |\n"
    write(**{"docs/glossary.md": row.format("feed; log"), "CONTRIBUTING.md": "## Glossary\n" + row.format("log (old)")})
    write(**{"README.md": "[a](docs/glossary.md#log) [b](docs/none.md)\n[c](http://localhost) [d](https://a.org/b)\n"})
    assert said(pages.glossaries(tmp_path)) == [("docs/glossary.md", "log has 2 rows, with those of CONTRIBUTING.md")]
    assert said(pages.links(tmp_path)) == [
        ("README.md:1", "there is no file docs/none.md"),
        ("README.md:2", "http://localhost is no whole address"),
    ]


def test_pages_name_files_that_there_are(tmp_path, write):
    write(**{"include/tailrace/a/b.py": "", "tests/test_b.py": "", "docs/a.md": "", "README.md": "`b.py` b `c.py`\n"})
    write(**{"CONTRIBUTING.md": "`a/b.py`, `pytest tests/test_b.py::test_b`, `tests/`, `*_b.py`, `.py`, `b.js`\n"})
    assert said(pages.paths(tmp_path)) == [("README.md:1", "there is no file c.py")]
    write(**{"docs/a.md": "\n`python tests/unit/test_b.py`, `tests/a` `b/b.py` `a*.py`, `docs/a.md`\n"})
    assert said(pages.paths(tmp_path))[1:] == [
        ("docs/a.md:2", f"there is no file {path}") for path in ("tests/unit/test_b.py", "tests/a", "b/b.py", "a*.py")
    ]


def test_the_page_of_the_api_names_what_there_is(tmp_path, write):
    write(**{"docs/python.md": "`.run(`\ntailrace.Query, tailrace.Nothing\n"})
    assert said(pages.python_names(tmp_path)) == [("docs/python.md:2", "there is no Nothing in tailrace")]


# ---------------------------------------------------------------- the texts of this tree


def test_durations_of_files_and_groups_that_are_no_more_go(tmp_path, write):
    write(**{"tests/test_a.py": 'mark("group")\n'})
    kept = {"group": 3, "tests/test_a.py": 0.5}
    text = json.dumps(kept, indent=1) + "\n"
    assert derived_texts.living_durations(text, tmp_path) == text
    stale = json.dumps({"gone": 1} | kept | {"tests/test_b.py": 2}, indent=1) + "\n"
    assert derived_texts.living_durations(stale, tmp_path) == text


def test_the_table_of_gauges_is_read_from_their_source():
    source = 'GAUGES = {\n    "k_s": Gauge("the slack", "s", lambda _, of: of.k),\n}\n'
    assert derived_texts.gauge_table(source).splitlines()[2:] == ["| `k_s` | the slack | s |"]
