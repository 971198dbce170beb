"""Data sets of UCI on the command line: offline, and from a directory of the user."""

from pathlib import Path

import pytest

from gdaopt.datasets import FROM_UCI, builtin
from gdaopt.datasets.builtin import CACHE_VARIABLE, DATA_VARIABLE
from tests.cli.cases import ANALYTIC, run
from tests.datasets.cases import SEEDS_TEXT, SMALL_BLOCKS, SMALL_SEEDS


@pytest.fixture(autouse=True)
def _no_other_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the data files and the cache of the person who runs the tests, and the internet."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(builtin, "SEEDS", SMALL_SEEDS)
    monkeypatch.setattr(builtin, "PAGE_BLOCKS", SMALL_BLOCKS)


@pytest.mark.parametrize("command", ["learn", "compare"])
@pytest.mark.parametrize("name", FROM_UCI)
def test_offline(command: str, name: str, tmp_path: Path) -> None:
    said = run(command, name, "--out", tmp_path / "out", code=2)
    file = "seeds_dataset.txt" if name == "seeds" else "page-blocks.data"
    for part in (
        f"is not in {tmp_path / 'cache'}, and could not be downloaded",
        "http://localhost:1/no.zip: ",
        f"By hand: get {file} or ",
        "https://archive.ics.uci.edu/dataset/",
        "--data-dir DIR, or set GDAOPT_DATA=DIR",
    ):
        assert part in said
    assert not (tmp_path / "out").exists()


def test_learn_from_a_directory(tmp_path: Path) -> None:
    (tmp_path / "seeds_dataset.txt").write_text(SEEDS_TEXT)
    out = tmp_path / "out"
    options = ("--data-dir", tmp_path, "--positive", "Kama", *ANALYTIC)
    said = run("learn", "seeds", *options, "--out", out)
    assert "seeds: 6 samples, 7 features; " in said
    assert "class Kama against the rest" in said
    assert (out / "Kama.npz").exists()
