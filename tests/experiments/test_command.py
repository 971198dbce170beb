"""``python -m experiments``: what it lists, refuses and replaces; and that each experiment runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments import NAMES, __main__
from experiments.pages import FIGURES, Experiment, MeasuredRows, Page

TOP = FIGURES.parent


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["experiments", *arguments])
    __main__.main()


def test_all_are_listed_and_wrote_the_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command(monkeypatch)
    listed = capsys.readouterr().out
    files = {file for name in NAMES for file in __main__.experiment_of(name).files}
    assert [name for name in (*NAMES, *files) if name not in listed] == []
    assert files == set(os.listdir(FIGURES))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mask",), "unknown experiment 'mask'; known are landing,"),
        (("masks", "--quick", "--out", str(FIGURES)), "its numbers are of small sizes"),
    ],
)
def test_is_refused_before_any_work(
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        command(monkeypatch, *arguments)
    assert message in capsys.readouterr().err


def test_nothing_is_replaced_before_all_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that fails leaves the old page, and the next one goes on with what is measured."""
    measured = []

    def measure() -> dict[str, int]:
        measured.append(1)
        return {"value": 7}

    def run(quick: bool, out: Path) -> None:
        rows = MeasuredRows(out / "rows.jsonl")
        for number in range(3):
            row = rows.get_or_measure(measure, number=number)
            assert row == {"number": number, "value": 7}
            if len(measured) == 2:
                Page(out, "page", "Title", "About.").write()
                raise OSError("the disk is full")
        page = Page(out, "page", "Title", "About.")
        page.add("new")
        page.write()

    experiment = Experiment("one of the tests", 1, ("page.md",), run)
    monkeypatch.setattr(__main__, "experiment_of", lambda _: experiment)
    out = tmp_path / "figures"
    out.mkdir()
    (out / "page.md").write_text("old")
    with pytest.raises(SystemExit, match="failed: masks"):
        command(monkeypatch, "masks", "--out", str(out))
    assert (out / "page.md").read_text() == "old"
    measured.append(1)  # the run goes on with the third row
    command(monkeypatch, "masks", "--out", str(out))
    assert len(measured) == 4
    text = (out / "page.md").read_text()
    assert text.startswith("# Title\n\nAbout.\n\nWritten by `python -m experiments page`. Made on ")
    assert text.endswith("\nnew\n")
    assert os.listdir(tmp_path) == ["figures"]
    assert os.listdir(out) == ["page.md"]


def test_a_line_that_was_cut_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"number": 1, "value": 2}\n{"numb')
    rows = MeasuredRows(path)
    assert rows.get_or_measure(lambda: {"value": 5}, number=1) == {"number": 1, "value": 2}
    assert rows.get_or_measure(lambda: {"value": 5}, number=3) == {"number": 3, "value": 5}
    lines = ['{"number": 1, "value": 2}', '{"number": 3, "value": 5}']
    assert path.read_text().splitlines() == lines


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_runs(name: str, tmp_path: Path) -> None:
    """By small sizes, in a process of its own, as a user runs it."""
    out = tmp_path / "out"
    arguments = (sys.executable, "-m", "experiments", name, "--quick", "--out", str(out))
    ended = subprocess.run(arguments, cwd=TOP, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    files = __main__.experiment_of(name).files
    assert set(os.listdir(out)) == set(files)
    for file in files:
        assert (out / file).stat().st_size > 100
        if file.endswith(".md"):
            assert f"`python -m experiments {name}`. Made on" in (out / file).read_text()
