"""The start of the command: interrupts while its modules are loaded."""

import subprocess
import sys

import pytest

import gdaopt
from tests.process_cases import posix_only

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


@posix_only
@pytest.mark.parametrize("name", ["gdaopt", "scipy.sparse", "gdaopt.cli.learn"])
def test_an_interrupt_ends_it_without_a_word(name: str) -> None:
    done = run(name)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@posix_only
def test_an_interrupt_that_a_parent_ignores_is_ignored() -> None:
    done = run("gdaopt.cli", "SIG_IGN")
    assert (done.returncode, done.stdout.split()[-1]) == (0, gdaopt.__version__)
