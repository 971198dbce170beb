"""The layout of the package: no circles of imports, and tests for each module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "gdaopt"

CIRCLES: list[list[str]] = []
"""The circles of imports that are known, each as a sorted list of modules."""

SMALL = 40
"""Lines up to which a module needs no test file of its own."""

TESTED_ELSEWHERE: dict[str, str] = {
    # The package itself, and the interfaces that others implement
    "gdaopt": "tests/test_package.py",
    "gdaopt.modelling": "tests/modelling/test_model.py",
    "gdaopt.objectives.protocol": "tests/objectives/test_check.py",
    # Families of atoms: one grid over all of them
    "gdaopt.sets": "tests/sets/test_feasible_set.py",
    "gdaopt.sets.kinds": "tests/sets/test_family.py",
    "gdaopt.sets.two_sparse": "tests/sets/test_family.py",
    "gdaopt.estimators.baselines.feature_weights": (
        "tests/estimators/baselines/test_joint_classifier.py"
    ),
    # What all methods share: one grid over them
    "gdaopt.methods.base": "tests/methods/test_limits.py",
    "gdaopt.methods.blocks": "tests/methods/test_joint.py",
    "gdaopt.methods.hull": "tests/methods/test_frank_wolfe.py",
    "gdaopt.methods.stopping": "tests/methods/test_solve.py",
    "gdaopt.methods.state": "tests/methods/test_limits.py",
    # Parts of pictures
    "gdaopt.plotting.canvas": "tests/plotting/test_layout.py",
    "gdaopt.plotting.legends": "tests/plotting/test_layout.py",
    "gdaopt.plotting.ticks": "tests/plotting/test_layout.py",
    # Files, processes and printing, tested by those who use them
    "gdaopt.errors": "tests/test_bad_input.py",
    "gdaopt.support.processes": "tests/studies/test_runner.py",
    "gdaopt.studies.comparison_table": "tests/cli/test_compare.py",
    "gdaopt.studies.run_directory": "tests/cli/test_learn.py",
    "gdaopt.cli.options": "tests/cli/test_learn.py",
    "gdaopt.cli.output": "tests/cli/test_compare.py",
}
"""Modules whose tests are not at the path of the module, and the file that has them."""


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
    circles = [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1]
    assert sorted(circles) == CIRCLES
    assert list(nx.nodes_with_selfloops(graph)) == []


def test_nothing_imports_the_baselines() -> None:
    """They are there to be compared with."""
    inside = "gdaopt.estimators.baselines"
    others = [module for module in MODULES if not module.startswith(inside)]
    assert [
        module for module in others if any(name.startswith(inside) for name in imported(module))
    ] == []


def test_the_imports_are_found() -> None:
    """At the top, by name and by module, under TYPE_CHECKING; and not those of functions."""
    found = set(imported("gdaopt.objectives.glr"))
    assert {
        "gdaopt.linalg.directions",
        "gdaopt.objectives.pairs.base",
        "gdaopt.support.validation",
    } <= found
    assert "gdaopt.linalg.laplacian" in set(imported("gdaopt.sets.kinds"))  # from linalg import …
    assert "gdaopt.problem" in set(imported("gdaopt.methods.steps"))  # under TYPE_CHECKING
    assert "gdaopt.estimators" in set(imported("gdaopt"))
    assert len(MODULES) > 100


def files_of_tests(module: str) -> list[Path]:
    """Return where a module may have its tests: its own file, its package's grid or file."""
    if module in TESTED_ELSEWHERE:
        return [ROOT / TESTED_ELSEWHERE[module]]
    *folders, name = module.split(".")[1:]
    folder = Path(ROOT, "tests", *folders)
    own, grid = folder / f"test_{name}.py", folder / "test_grid.py"
    return [own, grid, folder.with_name(f"test_{folder.name}.py")]


def needs_tests(module: str) -> bool:
    """Say whether a module is long enough, and more than a list of names from other modules."""
    text = MODULES[module].read_text(encoding="utf-8")
    defines = any(
        isinstance(node, ast.FunctionDef | ast.ClassDef) for node in ast.walk(ast.parse(text))
    )
    return module in TESTED_ELSEWHERE or (defines and len(text.splitlines()) > SMALL)


def modules_without_tests() -> dict[str, str]:
    """Return the modules without tests, and the file where they belong."""
    return {
        module: str(files_of_tests(module)[0].relative_to(ROOT))
        for module in [*MODULES, *(TESTED_ELSEWHERE.keys() - MODULES.keys())]
        if module not in MODULES
        or (needs_tests(module) and not any(file.exists() for file in files_of_tests(module)))
    }


def test_every_module_has_a_test_file() -> None:
    assert modules_without_tests() == {}
