"""What is known of each solver without asking it."""

from __future__ import annotations

import importlib.metadata
import tomllib
from pathlib import Path

import gdaopt as gda
from gdaopt.backends.catalogue import CATALOGUE, entry_of

ROOT = Path(__file__).parents[2]


def test_what_is_known_of_each_solver() -> None:
    listed = {info.name: info for info in gda.solvers()}
    assert set(listed) <= set(CATALOGUE)  # a new solver of CVXPY has to be described there
    assert listed["HIGHS"].version == importlib.metadata.version("highspy")
    assert (listed["HIGHS"].licence, listed["MOSEK"].licence) == ("MIT", "proprietary")
    assert listed["SCS"].algorithms == ("first order",)
    assert all(info.licence and info.algorithms for info in listed.values())
    assert all(info.version for info in listed.values() if info.usable)


def test_a_solver_that_is_not_known_yet() -> None:
    entry = entry_of("BRANDNEW")
    assert (entry.package, entry.licence, entry.version) == ("brandnew", "unknown", "")
    assert not entry.elsewhere


def test_the_extra_has_the_packages_that_hints_say_it_has() -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = " ".join(content["optional-dependencies"]["solvers"] + content["dependencies"])
    hinted = {entry.package for entry in CATALOGUE.values() if "[solvers]" in entry.hint}
    assert {package for package in hinted if package not in extra} == set()
    distinct = {name for name, entry in CATALOGUE.items() if "[solvers]" in entry.hint}
    assert len(distinct - {"GLPK_MI", "ECOS_BB"}) >= 14
