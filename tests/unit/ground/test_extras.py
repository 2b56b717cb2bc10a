"""The refusal of what needs an extra that is not installed, and the extras of pyproject.toml."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tailrace.ground.errors import Refused
from tailrace.ground.extras import EXTRAS, missing_from, refused_if_missing, require_extra

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
DECLARED = {
    extra: {re.split(r"[<>=\[ ;]", package)[0] for package in packages}
    for extra, packages in PROJECT["optional-dependencies"].items()
}
WITHOUT_IMPORT = {"all", "fast", "openlineage", "statsd"}
"""Extras that no command needs: numpy computes without numba, and Airflow itself imports the others."""


def test_each_extra_brings_the_modules_that_are_said_to_be_its_own():
    assert EXTRAS.keys() == DECLARED.keys() - WITHOUT_IMPORT
    distributions = {
        module: {name.lower().replace("_", "-") for name in names} for module, names in packages_distributions().items()
    }
    core = {re.split(r"[<>=]", package)[0] for package in PROJECT["dependencies"]}
    for extra, modules in EXTRAS.items():
        packages = DECLARED[extra] | (DECLARED["sql"] if "tailrace" in DECLARED[extra] else set())
        for module in modules:
            assert distributions[module] & packages, f"{extra} brings no {module}"
            assert not distributions[module] & core, f"{module} is of the core"


def test_the_extra_all_names_every_other_one():
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert {*everything.removeprefix("tailrace[").removesuffix("]").split(",")} == DECLARED.keys() - {"all"}


def test_what_is_installed_is_not_refused():
    for extra in EXTRAS:
        assert missing_from(extra) is None
        require_extra("here", extra)


@pytest.mark.parametrize("module", ["shapely", "pyproj"])
def test_a_missing_module_is_refused_with_its_extra(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(Refused) as refused:
        require_extra("spatial_join", "spatial", instead="no join")
    (problem,) = refused.value.problems
    assert (problem.where, problem.fault) == ("spatial_join", f"{module} is not installed")
    assert problem.remedy.startswith("the extra: pip install 'tailrace[spatial]'")
    assert problem.remedy.endswith("; or no join")


def test_a_failed_import_of_an_extra_is_a_refusal(monkeypatch):
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with (
        pytest.raises(Refused, match=r"tailrace x: confluent-kafka is not installed\n.*'tailrace\[kafka\]'"),
        refused_if_missing("tailrace x"),
    ):
        import confluent_kafka.admin  # noqa: F401


def test_a_module_of_two_extras_is_said_to_be_of_its_own(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(Refused, match=r"tailrace\[sql\]"), refused_if_missing("x"):
        import duckdb  # noqa: F401


def test_another_failed_import_stays_what_it_is():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), refused_if_missing("x"):
        import no_such_module  # noqa: F401


def test_the_page_on_installing_has_the_words_of_a_refusal(monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "install.md").read_text()
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(Refused) as refused:
        require_extra("warmth.yaml:11: streams.readings.columns.degrees: 1:1", "sql")
    assert f"```text\nrefused {refused.value}\n```" in page
