"""Write the versions that ``pip install -c`` takes, constraints/*.txt, anew from pyproject.toml.

tested.txt has the newest releases with which all but the extra ``solvers`` can be installed, on any
system, for each Python that the tests run on; later Pythons are not pinned. oldest.txt has the
lowest versions that pyproject.toml allows, and the newest of all that these need, for the oldest
Python. ``uv`` chooses the versions, in an environment that is removed afterwards.
"""

import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

TOP = Path(__file__).resolve().parents[1]
HEADER = "# Written by `python3 .ci/write_constraints.py` from pyproject.toml.\n"


def floors(project: str) -> list[str]:
    """Return the requirements that have a lowest version, with that version alone."""
    table = tomllib.loads(project)["project"]
    extras = table["optional-dependencies"]
    chosen = ("cli", "dask", "notebooks", "test")
    needed = [*table["dependencies"], *(one for extra in chosen for one in extras[extra])]
    return [one.replace(">=", "==") for one in needed if ">=" in one]


def resolved(uv: Path, project: str, pythons: str, extras: list[str], also: list[str]) -> str:
    """Return the lines of a file with constraints for some versions of Python."""
    with TemporaryDirectory() as folder:
        copy, more = Path(folder) / "pyproject.toml", Path(folder) / "also.txt"
        # In the project's own file this would restrict those who install gdaopt by uv.
        copy.write_text(f'{project}\n[tool.uv]\nenvironments = ["{pythons}"]\n', encoding="utf-8")
        more.write_text("\n".join(also), encoding="utf-8")
        chosen = [word for extra in extras for word in ("--extra", extra)]
        options = ["--universal", "--python-version=3.11", "--no-header", "--no-annotate"]
        command = [str(uv), "pip", "compile", "--quiet", *options, *chosen, str(copy), str(more)]
        done = subprocess.run(command, cwd=folder, check=True, text=True, stdout=subprocess.PIPE)
    return done.stdout


def main() -> None:
    """Write both files, or none."""
    project = (TOP / "pyproject.toml").read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        bin = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        subprocess.run([bin / "python", "-m", "pip", "install", "--quiet", "uv"], check=True)
        uv = bin / "uv"
        extras = ["test", "docs", "release"]
        texts = {
            "tested": resolved(uv, project, "python_version < '3.14'", extras, []),
            "oldest": resolved(uv, project, "python_version < '3.12'", ["test"], floors(project)),
        }
    for name, text in texts.items():
        (TOP / "constraints" / f"{name}.txt").write_text(HEADER + text, encoding="utf-8")


main()
