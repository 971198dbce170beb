"""What `import gdaopt` costs, and what it offers."""

import inspect
import subprocess
import sys

import pytest

import gdaopt


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


@pytest.mark.parametrize("name", [name for name in gdaopt.__all__ if not name.startswith("_")])
def test_every_public_name_is_documented(name: str) -> None:
    public = getattr(gdaopt, name)
    assert inspect.getdoc(public)
    # A dataclass without a docstring gets its signature as one.
    assert not str(public.__doc__).startswith(f"{name}(")
