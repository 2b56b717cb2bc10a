"""Checks that Python and other packages have the versions that tailrace requires."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from importlib.util import find_spec

from tailrace.advice.checks import Check, Finding, fault, ok, warning

_PACKAGE = "tailrace"
AIRFLOW = "apache-airflow-core"
_REMEDY = "pip install --upgrade tailrace in this environment; in a checkout: make setup"


def package_checks() -> Iterator[Check]:
    """Yield the checks of this Python and of its packages."""
    yield Check("python", lambda: [check_python()])
    yield Check("packages", lambda: [*check_packages()])
    yield Check("airflow", lambda: [check_airflow()])


def check_python() -> Finding:
    """Check that Python has the version that the package requires."""
    version_here = platform.python_version()
    try:
        wanted = metadata(_PACKAGE)["Requires-Python"] or ""
    except PackageNotFoundError:
        return warning("python", f"{version_here}; tailrace itself is not installed", _REMEDY)
    if find_spec("packaging") is not None:
        from packaging.specifiers import SpecifierSet

        if not SpecifierSet(wanted).contains(version_here, prereleases=True):
            return fault("python", f"{version_here}, and tailrace wants {wanted}", f"Python {wanted}")
    return ok("python", f"{version_here}; tailrace {version(_PACKAGE)}")


def check_packages(declared: Iterable[str] | None = None) -> Iterator[Finding]:
    """Yield a fault for each package that is missing or has a wrong version; otherwise one finding for all.

    `declared` has the requirements, by default the installed tailrace's. Requirements of extras are left out, unless
    they are installed in a wrong version.
    """
    if find_spec("packaging") is None:
        yield warning("packages", "versions can't be compared without the package packaging", "pip install packaging")
        return
    from packaging.requirements import Requirement

    try:
        wanted = [Requirement(text) for text in (requires(_PACKAGE) or [] if declared is None else declared)]
    except PackageNotFoundError:
        yield warning("packages", "tailrace itself is not installed, so what it wants is not known", _REMEDY)
        return
    checked = 0
    for requirement in wanted:
        is_of_extra = requirement.marker is not None and "extra" in str(requirement.marker)
        if requirement.marker is not None and not is_of_extra and not requirement.marker.evaluate():
            continue
        try:
            version_here = version(requirement.name)
        except PackageNotFoundError:
            if not is_of_extra:
                yield fault("packages", f"{requirement.name} is not installed", _REMEDY)
            continue
        checked += 1
        if not requirement.specifier.contains(version_here, prereleases=True):
            finding = f"{requirement.name} is {version_here}, and tailrace wants {requirement.specifier}"
            yield (warning if is_of_extra else fault)("packages", finding, _REMEDY)
    yield ok("packages", f"{checked} were compared with what tailrace wants")


def check_airflow() -> Finding:
    """Check that Airflow is installed; queries run without it, by hand."""
    try:
        return ok("airflow", version(AIRFLOW))
    except PackageNotFoundError:
        remedy = "tailrace's extra for Airflow, to schedule queries; tailrace run needs none"
        return warning("airflow", "it is not installed", remedy)
