"""What the package offers and costs to import, its command, its layout, and its pinned versions."""

from __future__ import annotations

import ast
import importlib
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
    code = "import sys; before = {*sys.modules}; import gdaopt; print(*{*sys.modules} - before)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    own = {name for name in run.stdout.split() if name.startswith("gdaopt")}
    assert own == {"gdaopt", "gdaopt.support", "gdaopt.support.cvxpy_loading"}
    assert {
        name for name in run.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names
    } == own


def test_names_for_type_checkers_are_those_that_are_loaded() -> None:
    (block,) = (
        node
        for node in ast.parse(MODULES["gdaopt"].read_text(encoding="utf-8")).body
        if isinstance(node, ast.If)
    )
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert sorted(node.names[0].asname or "" for node in imports) == gdaopt.__all__
    for node in imports:
        assert getattr(gdaopt, node.names[0].name) is getattr(
            importlib.import_module(str(node.module)), node.names[0].name
        )


def test_the_door_is_small() -> None:
    """What a first week needs; the rest is in the packages."""
    assert len(gdaopt.__all__) <= 48
    assert {"errors", "estimators", "methods", "programs", "solve"} <= set(gdaopt.__all__)


# --- Without the extra `cli` ---------------------------------------------------------------------

NEED_THE_EXTRA = ("gdaopt.bench.study", "gdaopt.cli", "gdaopt.studies")

WITHOUT = """
import importlib, sys
import numpy as np
import pytest

for name in {extra}:
    sys.modules[name] = None  # its import fails
for name in {modules}:
    importlib.import_module(name)

import gdaopt as gda

problem = gda.MetricProblem(gda.Linear(np.eye(2)), gda.GraphMetrics(trace_bound=1.0))
result = gda.solve(problem, "certified")
for missing, ask in {{
    "a trace as a table needs pandas": result.trace.to_pandas,
    "reading a table needs pandas": lambda: gda.datasets.read_table({table!r}),
}}.items():
    with pytest.raises(gda.errors.NotInstalledError, match=missing) as caught:
        ask()
    assert str(caught.value).endswith('which is not installed: pip install "gdaopt[cli]"')

import gdaopt.cli

gdaopt.cli.main()
"""


def test_the_library_works_without_the_extra_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,label\n1,x\n")
    modules = [name for name in MODULES if not name.startswith(NEED_THE_EXTRA)]
    extra = [requirement.name for requirement in extra_requirements("cli")]
    code = WITHOUT.format(extra=extra, modules=modules, table=str(tmp_path / "table.csv"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    says = "error: the command gdaopt needs typer, which is not installed: pip install"
    assert done.stderr == f'{says} "gdaopt[cli]"\n'


# --- The start of the command --------------------------------------------------------------------


CODE = """
import os, signal, sys
from gdaopt.cli import main

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
signal.signal(signal.SIGINT, signal.{handler})
sys.argv[1:] = ["--version"]
main()
"""


def run(name: str, handler: str = "default_int_handler") -> subprocess.CompletedProcess[str]:
    """Run ``gdaopt --version``, with an interrupt when a module is about to be loaded."""
    code = [sys.executable, "-c", CODE.format(name=name, handler=handler)]
    return subprocess.run(code, capture_output=True, text=True, check=False)


@pytest.mark.slow
@posix_only
@pytest.mark.parametrize("name", ["gdaopt.cli.app", "scipy.sparse", "gdaopt.cli.learn"])
def test_an_interrupt_ends_it_without_a_word(name: str) -> None:
    done = run(name)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.slow
@posix_only
def test_an_interrupt_that_a_parent_ignores_is_ignored() -> None:
    done = run("gdaopt.cli.app", "SIG_IGN")
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
        ("gdaopt.objectives.glr", "gdaopt.objectives.pairs.pairs"),
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


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def extra_requirements(*extras: str) -> list[Requirement]:
    """Return the requirements of some extras."""
    named = PROJECT["optional-dependencies"]
    return [Requirement(one) for extra in extras for one in named[extra]]


def needed(*extras: str) -> list[Requirement]:
    """Return the requirements of the package, and of some extras."""
    return [*map(Requirement, PROJECT["dependencies"]), *extra_requirements(*extras)]


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
    for requirement in needed("cli", "dask", "docs", "notebooks", "release", "test"):
        applies = not requirement.marker or requirement.marker.evaluate(
            {"python_version": python, "sys_platform": system, "platform_machine": "x86_64"}
        )
        if applies and requirement.name != "gdaopt":
            assert requirement.specifier.contains(versions[requirement.name]), requirement


def test_the_oldest_versions_are_the_lowest_that_are_allowed() -> None:
    versions = pinned("oldest", "3.11", "linux")
    for requirement in needed("cli", "dask", "notebooks", "test"):
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
