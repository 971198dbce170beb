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
        "",
        "import importlib; importlib.reload(gdaopt)",
        "import importlib; importlib.util.find_spec('cvxpy')",
        HOOK.format(place=0),
        HOOK.format(place=1),
    ],
    ids=["alone", "loaded twice", "looked up", "before another finder", "after another finder"],
)
def test_methods_exist_whichever_is_imported_first(before: str) -> None:
    code = f"""
import gdaopt
{before}
import sys
import cvxpy
print(cvxpy.Problem.REGISTERED_SOLVE_METHODS.keys() >= {{"gdaopt", "discs"}})
print([finder for finder in sys.meta_path if type(finder).__module__.startswith("gdaopt")])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.splitlines() == ["True", "[]"], run.stderr
