"""The environment that metric-learn runs in."""

import json
import subprocess
import sys

from gdaopt.datasets.builtin import cache_directory

REQUIREMENTS = ("metric-learn==0.7.0", "scikit-learn<1.6", "numpy<2", "psutil")
_VERSIONS = """
import json, platform, metric_learn, numpy, psutil, scipy, sklearn
used = {"Python": platform.python_version()}
for module in (numpy, scipy, sklearn):
    used[module.__name__.replace("sklearn", "scikit-learn")] = module.__version__
print(json.dumps(used))
"""


class Environment:
    """An environment of its own for metric-learn, which does not import with new scikit-learn.

    Where it cannot be built, such as without a network, that is an OSError or a
    `subprocess.CalledProcessError`.
    """

    def __init__(self) -> None:
        name = f"metric-learn-0.7.0-python{sys.version_info.major}.{sys.version_info.minor}"
        home = cache_directory() / name
        self.python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        try:
            self.versions = self._look()
        except (OSError, subprocess.CalledProcessError):  # none yet, or one that was not finished
            print(f"Building an environment with {REQUIREMENTS[0]} in {home} …", flush=True)
            pip = [str(self.python), "-m", "pip", "--disable-pip-version-check", "--quiet"]
            for command in (
                [sys.executable, "-m", "venv", "--clear", str(home)],
                [*pip, "install", *REQUIREMENTS],
            ):
                subprocess.run(command, check=True, capture_output=True, text=True)
            self.versions = self._look()

    def _look(self) -> dict[str, str]:
        command = [str(self.python), "-c", _VERSIONS]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        used: dict[str, str] = json.loads(output)
        return used
