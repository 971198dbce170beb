"""What holds for all tests: one thread each, pictures closed, and which cases run by default."""

import os
import signal
import sys
from collections.abc import Iterator
from importlib.metadata import version

import pytest
from hypothesis import is_hypothesis_test, settings

from tests.covering import every, mark_covering_parts

os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers share the cores; read by numpy
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # subprocesses compile the package once, not each
# What a shell starts in the background ignores interrupts, and so would the tests of them.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["MPLBACKEND"] = "Agg"  # read when matplotlib is first imported, in subprocesses too


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        from matplotlib import pyplot

        pyplot.close("all")


settings.register_profile("slow")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every", type=int, default=1, metavar="N", help="run every N-th case of each test only"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let ``-m slow`` run properties too, with more examples (`tests.helpers.properties`)."""
    if config.getoption("markexpr") == "slow":
        settings.load_profile("slow")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    mark_covering_parts(items)
    if settings.get_current_profile_name() == "slow":
        for item in items:
            if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
                item.add_marker(pytest.mark.slow)
    if version("cvxpy").startswith("1.7."):
        for item in items:
            if item.name == "gdaopt.programs.readable.at":
                item.add_marker(pytest.mark.skip(reason="CVXPY 1.7 has no labels to print"))
    yield  # here pytest leaves out what is slow
    kept = every(items, config.getoption("every"))
    left_out = set(items).difference(kept)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = kept
