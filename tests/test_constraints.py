"""The files with versions for `pip install -c` go with pyproject.toml."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

TOP = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = ("linux", "darwin", "win32")


def needed(*extras: str) -> list[Requirement]:
    """Return the requirements of the package, and of some extras."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of_extras = (one for extra in extras for one in project["optional-dependencies"][extra])
    return [Requirement(one) for one in (*project["dependencies"], *of_extras)]


def constraints(name: str) -> list[Requirement]:
    """Return the lines of a file."""
    text = (TOP / "constraints" / f"{name}.txt").read_text(encoding="utf-8")
    return [Requirement(line) for line in text.splitlines() if not line.startswith("#")]


def pinned(name: str, python: str, system: str) -> dict[str, Version]:
    """Return the versions that a file has for a version of Python on a system."""
    there: Any = {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "sys_platform": system,
        "platform_machine": "x86_64",
    }
    chosen = [one for one in constraints(name) if not one.marker or one.marker.evaluate(there)]
    versions = {one.name: Version(str(one.specifier).removeprefix("==")) for one in chosen}
    assert len(versions) == len(chosen)
    return versions


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_what_is_needed_has_a_tested_version(python: str, system: str) -> None:
    versions = pinned("tested", python, system)
    for requirement in needed("dask", "docs", "notebooks", "release", "test"):
        applies = not requirement.marker or requirement.marker.evaluate(
            {"python_version": python, "sys_platform": system, "platform_machine": "x86_64"}
        )
        if applies and requirement.name != "gdaopt":
            assert requirement.specifier.contains(versions[requirement.name]), requirement


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("name", ["tested", "oldest"])
def test_later_pythons_are_not_pinned(name: str, system: str) -> None:
    assert pinned(name, "3.14", system) == {}


def test_the_oldest_versions_are_the_lowest_that_are_allowed() -> None:
    versions = pinned("oldest", "3.11", "linux")
    for requirement in needed("dask", "notebooks", "test"):
        lowest = [part.version for part in requirement.specifier if part.operator == ">="]
        for version in lowest:
            assert versions[requirement.name] == Version(version), requirement
        if requirement.name != "gdaopt":
            assert requirement.name in versions


@pytest.mark.parametrize("name", ["tested", "oldest"])
def test_they_name_packages_and_versions_alone(name: str) -> None:
    """No place that packages come from, neither on this machine nor elsewhere."""
    for line in (TOP / "constraints" / f"{name}.txt").read_text(encoding="utf-8").splitlines()[1:]:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+( ; [^/@]+)?", line), line
