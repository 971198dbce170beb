"""What the package offers and costs to import, its command, its layout, and its pinned versions."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import gdaopt
from tests.process_cases import posix_only


def test_import_loads_nothing_that_is_not_used() -> None:
    solvers = ("clarabel", "cvxpy", "ecos", "highspy")
    others = ("matplotlib", "pandas", "psutil", "sklearn", "threadpoolctl", "unlzw3")
    of_scipy = ("scipy.optimize", "scipy.sparse.linalg", "scipy.spatial", "scipy.special")
    own = ("gdaopt.datasets", "gdaopt.plotting")
    heavy = (*solvers, *others, *of_scipy, *own)
    # An older SciPy loads some of its other packages with `scipy.sparse`.
    code = (
        "import scipy.sparse, sys; before = set(sys.modules); import gdaopt; "
        f"print(*[name for name in {heavy} if name in sys.modules and name not in before])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_the_door_is_small() -> None:
    """What a first week needs; the rest is in the packages."""
    assert len(gdaopt.__all__) <= 48
    assert {"errors", "estimators", "methods", "programs", "solve"} <= set(gdaopt.__all__)


# --- The start of the command --------------------------------------------------------------------


CODE = """
import os, signal, sys
import gdaopt_command

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.{handler})
sys.argv[1:] = ["--version"]
gdaopt_command.main()
"""


def run(name: str, handler: str = "default_int_handler") -> subprocess.CompletedProcess[str]:
    """Run ``gdaopt --version``, with an interrupt when a module is about to be loaded."""
    code = [sys.executable, "-c", CODE.format(name=name, handler=handler)]
    return subprocess.run(code, capture_output=True, text=True, check=False)


@pytest.mark.slow
@posix_only
@pytest.mark.parametrize("name", ["gdaopt", "scipy.sparse", "gdaopt.cli.learn"])
def test_an_interrupt_ends_it_without_a_word(name: str) -> None:
    done = run(name)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.slow
@posix_only
def test_an_interrupt_that_a_parent_ignores_is_ignored() -> None:
    done = run("gdaopt.cli", "SIG_IGN")
    assert (done.returncode, done.stdout.split()[-1]) == (0, gdaopt.__version__)


# --- The layout of the package -------------------------------------------------------------------


ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "gdaopt"


def name_of(path: Path) -> str:
    """Return the dotted name of the module in a file of the package."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(module: str) -> Iterator[str]:
    """Yield the modules of the package that a module imports, anywhere in its text.

    Imports under ``if TYPE_CHECKING`` and inside of functions count as well: to understand one
    module of a circle one has to read all of them, whenever the import happens.
    """
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in MODULES else node.module


def test_there_are_no_circles_of_imports() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from((module, other) for module in MODULES for other in imported(module))
    circles = [group for group in nx.strongly_connected_components(graph) if len(group) > 1]
    assert circles == []
    assert list(nx.nodes_with_selfloops(graph)) == []
    # The imports are found: at the top, by name, by module, and under TYPE_CHECKING.
    found = {
        ("gdaopt.objectives.glr", "gdaopt.objectives.pair_loss"),
        ("gdaopt.objectives.glr", "gdaopt.objectives.pairs.base"),
        ("gdaopt.sets.kinds", "gdaopt.linalg.laplacian"),
        ("gdaopt.methods.steps", "gdaopt.problem"),
        ("gdaopt", "gdaopt.estimators"),
    }
    assert found <= set(graph.edges)
    assert len(MODULES) > 100


def test_nothing_imports_the_baselines() -> None:
    """They are there to be compared with."""
    inside = "gdaopt.estimators.baselines"
    others = [module for module in MODULES if not module.startswith(inside)]
    importing = [other for other in others if any(inside in name for name in imported(other))]
    assert importing == []


# --- The files with versions for `pip install -c` go with pyproject.toml -------------------------


PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = ("linux", "darwin", "win32")


def needed(*extras: str) -> list[Requirement]:
    """Return the requirements of the package, and of some extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of_extras = (one for extra in extras for one in project["optional-dependencies"][extra])
    return [Requirement(one) for one in (*project["dependencies"], *of_extras)]


def constraints(name: str) -> list[Requirement]:
    """Return the lines of a file."""
    text = (ROOT / "constraints" / f"{name}.txt").read_text(encoding="utf-8")
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


def test_the_oldest_versions_are_the_lowest_that_are_allowed() -> None:
    versions = pinned("oldest", "3.11", "linux")
    for requirement in needed("dask", "notebooks", "test"):
        assert requirement.name in versions or requirement.name == "gdaopt"
        for part in requirement.specifier:
            if part.operator == ">=":
                assert versions[requirement.name] == Version(part.version), requirement


@pytest.mark.parametrize("name", ["tested", "oldest"])
def test_they_name_packages_and_versions_alone(name: str) -> None:
    """No place that packages come from, neither on this machine nor elsewhere."""
    for line in (ROOT / "constraints" / f"{name}.txt").read_text(encoding="utf-8").splitlines()[1:]:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+( ; [^/@]+)?", line), line
    for system in SYSTEMS:  # and later versions of Python are not pinned
        assert pinned(name, "3.14", system) == {}
