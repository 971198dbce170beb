"""What is known of each solver without asking it: packages, and the names of tolerances."""

import importlib.metadata
import tomllib
from pathlib import Path

import gdaopt as gda
from gdaopt.backends.catalogue import CATALOGUE, entry_of, tolerance_options

ROOT = Path(__file__).parents[2]


def test_what_is_known_of_each_solver() -> None:
    listed = {info.name: info for info in gda.solvers()}
    assert set(listed) <= set(CATALOGUE)  # a new solver of CVXPY has to be described there
    assert listed["HIGHS"].version == importlib.metadata.version("highspy")
    assert (listed["HIGHS"].licence, listed["MOSEK"].licence) == ("MIT", "proprietary")
    assert listed["SCS"].algorithms == ("first order",)
    assert all(info.licence and info.algorithms for info in listed.values())
    assert all(info.version for info in listed.values() if info.usable)
    unasked = {name for name in listed if listed[name].licence != "proprietary"} - {"analytic"}
    untried = {"COSMO", "CUCLARABEL", "CUOPT", "DIFFCP", "PDCS"}  # which we cannot try
    assert {name for name in unasked if not entry_of(name).tolerances} == untried & set(listed)
    assert tolerance_options("analytic", 1e-6) == {}
    entry = entry_of("BRANDNEW")
    assert (entry.package, entry.licence, entry.version) == ("brandnew", "unknown", "")
    assert not entry.backend


def test_the_extra_has_the_packages_that_hints_say_it_has() -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = " ".join(content["optional-dependencies"]["solvers"] + content["dependencies"])
    hinted = [entry for entry in CATALOGUE.values() if "[solvers]" in entry.hint]
    assert [entry.package for entry in hinted if entry.package not in extra] == []
    assert sum(not entry.twin_of for entry in hinted) >= 14
