"""Backends of others: by an entry point of an installed package, and by a file."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

import gdaopt as gda
from gdaopt.backends import CATALOGUE, catalogue
from gdaopt.backends.catalogue import add_module, tolerance_options
from tests.cli.cases import run
from tests.helpers import scaled

BACKEND = Path(__file__).with_name("linprog_backend.py")


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is added is forgotten, and whatever is installed here is looked for anew."""
    monkeypatch.delenv(catalogue._MODULES, raising=False)
    before = dict(CATALOGUE)
    catalogue._add_foreign.cache_clear()
    yield
    os.environ.pop(catalogue._MODULES, None)
    CATALOGUE.clear()
    CATALOGUE.update(before)
    catalogue._add_foreign.cache_clear()


def install(folder: Path, entry_point: str) -> None:
    """Install the backend as a package of version 1.2 into a folder."""
    shutil.copy(BACKEND, folder / "of_another.py")
    record = folder / "linprog_backend-1.2.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: linprog-backend\nVersion: 1.2\n")
    (record / "entry_points.txt").write_text(f"[gdaopt.backends]\n{entry_point}\n")


@pytest.mark.slow
def test_an_installed_one_is_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In lists, runs, comparisons and benches, also in their worker processes."""
    assert len(BACKEND.read_text(encoding="utf-8").splitlines()) <= 44
    install(tmp_path, "linprog = of_another:linprog")
    monkeypatch.syspath_prepend(tmp_path)
    (info,) = [info for info in gda.solvers() if info.name == "linprog"]
    assert (info.usable, info.version, info.licence) == (True, "1.2", "MIT")
    assert tolerance_options("linprog", 1e-6) == {"primal_feasibility_tolerance": 1e-6}
    problem = gda.MetricProblem(gda.GLR(*scaled("iris", "setosa")), gda.GraphMetrics(4.0, 1e-3))
    for method in ("alternating", "joint"):
        exact = gda.solve(problem, method, solver="analytic", max_iterations=10)
        found = gda.solve(problem, method, solver="LinProg", max_iterations=10)
        assert found.solver == "linprog"
        assert found.objective == pytest.approx(exact.objective, rel=1e-6)
    assert "1.2" in run("solvers")
    compared = ("compare", "iris", "--methods", "joint", "--solvers", "linprog,highspy")
    assert "linprog" in run(*compared, "--out", tmp_path / "compared")
    bench = ("bench", "--data", "random", "--sizes", "5", "--solvers", "linprog")
    few = ("--runs", "none", "--most", "2", "--tolerances", "1e-6", "--programs", "joint")
    assert "linprog: " in run(*bench, *few, "--out", tmp_path / "bench")
    summary = pd.read_parquet(tmp_path / "bench" / "summary.parquet").set_index("solver")
    own = summary.loc["linprog"]
    assert set(own["start"]) == {"cold", "re-solve", "hot"}
    assert set(own["version"]) == {"1.2"}
    assert set(own["options"]) == {"primal_feasibility_tolerance=1e-06"}
    assert (own["verified_share"] == 1.0).all()


def test_a_file_has_backends(tmp_path: Path) -> None:
    """Under the names of their variables, for worker processes as well."""
    path = tmp_path / "mine.py"
    text = BACKEND.read_text(encoding="utf-8")
    path.write_text(text.replace("linprog = Solver", "Mine = Solver"), encoding="utf-8")
    assert "Mine" in run("--backend-module", path, "solvers")
    assert os.environ[catalogue._MODULES] == str(path)
    assert gda.backends.registry.find_solver("mine") == "Mine"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "No such file"),
        ("import no_such_package", "cannot be loaded: No module named 'no_such_package'"),
        ("linprog = 3", "has no SolverEntry with a backend"),
    ],
)
def test_files_without_backends_are_refused(text: str | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    assert says in run("--backend-module", path, "solvers", code=2)
    with pytest.raises(gda.errors.InvalidInputError, match=r"mine\.py"):
        add_module(path)


@pytest.mark.parametrize(
    ("point", "says"),
    [("of_another:nothing", "nothing"), ("of_another:LinprogBackend", "must be a SolverEntry")],
)
def test_a_broken_package_is_a_line_of_the_list(
    point: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, f"broken = {point}")
    monkeypatch.syspath_prepend(tmp_path)
    catalogue._add_foreign.cache_clear()
    (info,) = [info for info in gda.solvers() if info.name == "broken"]
    assert not info.usable
    assert "cannot be loaded" in info.reason
    assert says in info.reason
    with pytest.raises(gda.errors.SolverFailedError, match="cannot be loaded"):
        gda.backends.registry.make_backend("broken")
