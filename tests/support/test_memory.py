"""What becomes of memory that is freed."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_SCRIPT = """
import resource
import gdaopt as gda
from gdaopt.datasets import load, scale_features

wine = load("wine")
X = scale_features(wine.features, "zscore")
problem = gda.MetricProblem(gda.MCML(X, wine.labels), gda.GraphMetrics(130.0))
gda.solve(problem)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
gda.solve(problem)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about the allocator of glibc")
def test_steps_do_not_map_their_arrays_anew() -> None:
    """A solve that made all its arrays anew would have tens of thousands of page faults."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2000
