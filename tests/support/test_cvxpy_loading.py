"""What is registered with CVXPY once anybody loads it, whoever else looks for modules."""

import subprocess
import sys

import pytest

HOOK = """
import importlib.util, sys
class Hook:
    asks = False
    def find_spec(self, name, path, target=None):
        if name != "cvxpy" or self.asks:
            return None
        self.asks = True
        try:
            return importlib.util.find_spec(name)
        finally:
            self.asks = False
sys.meta_path.insert({place}, Hook())
"""


@pytest.mark.parametrize(
    "before",
    [
        "import cvxpy, gdaopt",
        "import gdaopt; gdaopt.GraphMetrics; import cvxpy.expressions.variable",
        "import gdaopt, importlib; importlib.reload(gdaopt); gdaopt.lmi",
        f"import gdaopt{HOOK.format(place=0)}",
        f"import gdaopt{HOOK.format(place=1)}",
    ],
    ids=["afterwards", "on demand", "twice", "before another finder", "after another finder"],
)
def test_the_solve_methods_are_registered(before: str) -> None:
    code = f"""
{before}
import cvxpy, sys
print(*sorted(cvxpy.Problem.REGISTERED_SOLVE_METHODS))
print([finder for finder in sys.meta_path if type(finder).__module__.startswith("gdaopt")])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.splitlines() == ["discs gdaopt", "[]"], run.stderr
