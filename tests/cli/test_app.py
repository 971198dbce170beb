"""The application: its version, its help, and the commands export and solvers."""

import errno
import itertools
import os
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gdaopt as gda
from gdaopt.cli.app import app
from tests.cli.cases import command, run, undrawn
from tests.result_cases import solved


def test_the_version() -> None:
    assert run("--version") == f"gdaopt {gda.__version__}"


def test_help_lists_all_commands() -> None:
    shown = run("--help")
    assert "Learn positive definite metrics without projections." in shown
    for name in ("learn", "apply", "compare", "plot", "solvers"):
        assert f" {name} " in shown


@pytest.mark.parametrize("command", ["learn", "apply", "compare", "plot", "bench", "solvers"])
def test_paragraphs_of_help_fill_their_lines(command: str) -> None:
    """However long the lines of the docstring are: no word would fit on the line before."""
    width = 80
    help_ = CliRunner(env={"COLUMNS": str(width)}).invoke(app, [command, "--help"]).stdout
    text = help_.split("[OPTIONS]")[1].split("╭")[0].splitlines()
    lines = [line.strip() for line in text[1:]]
    for line, following in itertools.pairwise(lines):
        if line and following:
            assert len(line) + 1 + len(following.split()[0]) > width - 3


@pytest.mark.slow
@pytest.mark.parametrize("command", ["learn", "compare"])
def test_terminals_without_the_characters(command: str) -> None:
    """They get escapes; the square root of the features ended in a UnicodeEncodeError."""
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment["PYTHONIOENCODING"] = "ascii"
    code = [sys.executable, "-c", "from gdaopt.cli.app import app; app()", command, "--help"]
    done = subprocess.run(code, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\u221a" in done.stdout


# --- Standard output that cannot be written ------------------------------------------------------

FULL = Path("/dev/full")
full_only = pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is full")
NO_ROOM = f"error: cannot write standard output: {os.strerror(errno.ENOSPC)}"


@full_only
@pytest.mark.parametrize("buffering", [-1, 1], ids=["block", "line"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("learn", "--help"),
        ("learn", "iris"),
        ("apply", "run", "run/samples.csv", "--out", "new.csv"),
        ("plot", "run.npz"),
        ("export", "iris.npz"),
        pytest.param(("compare", "iris", "--methods", "certified"), marks=pytest.mark.slow),
        pytest.param(("bench", "--data", "random", "--sizes", "5"), marks=pytest.mark.slow),
        pytest.param(("solvers",), marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_a_full_disk(
    arguments: tuple[str, ...],
    buffering: int,
    recorded: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of what every command prints: it ended in a traceback."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(recorded, "iris.npz")
    solved("analytic").save("run.npz")
    with undrawn():
        if arguments[0] == "apply":
            run("learn", "iris", "--no-accuracy", "--tolerance", "0.5", "--out", "run")
        with FULL.open("w", buffering) as full, redirect_stdout(full):
            with pytest.raises(SystemExit) as ended:
                app(list(arguments))
            assert sys.stdout is full
    assert ended.value.code == 2
    assert " ".join(capsys.readouterr().err.split()) == NO_ROOM


@full_only
@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_outputs_of_processes(unbuffered: str) -> None:
    """Nothing is said after the sentence; and nothing at all where the reader has gone."""
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    for arguments in ("--version", "--help"):
        with FULL.open("w") as full:
            done = subprocess.run(
                command(arguments), env=environment, stdout=full, stderr=-1, text=True, check=False
            )
        assert (done.returncode, done.stderr.strip()) == (2, NO_ROOM)
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            command(arguments), env=environment, stdout=writing, stderr=-1, text=True, check=False
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (1, "")


def test_no_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has none where the caller has closed it."""
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as ended:
        app(["--version"])
    assert ended.value.code == 0


# --- ``gdaopt export`` ---------------------------------------------------------------------------


def test_both_formats(recorded: Path, tmp_path: Path) -> None:
    options = ["--program", "0", "--program", "2", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, ["export", str(recorded), *options])
    assert result.exit_code == 0, result.output
    names = [path.name for path in sorted((tmp_path / "out").iterdir())]
    kinds = [gda.bench.load_programs(recorded)[number].kind for number in (0, 2)]
    assert names == [
        f"iris-0000{number}-{kind}{ending}"
        for number, kind in zip((0, 2), kinds, strict=True)
        for ending in (".mps", ".py")
    ]
    assert all(name in result.output for name in names)


# --- `gdaopt solvers` ----------------------------------------------------------------------------


def test_solvers() -> None:
    output = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["solvers"]).stdout
    working, absent = (
        {
            cells[0]: cells[1:]
            for line in part.splitlines()
            if line.startswith("│") and (cells := [cell.strip() for cell in line.split("│")[1:-1]])
            if cells[0]  # the others go on with the line above
        }
        for part in output.split("Not working here:")
    )
    assert working["HIGHS"] == [
        version("highspy"),
        "MIT",
        "simplex, interior point, first order",
        "",
    ]
    assert working["highspy"] == working["HIGHS"]
    assert working["analytic"] == [gda.__version__, "Apache-2.0", "closed form", ""]
    assert working["CLARABEL"][2:] == ["interior point", "second-order, semidefinite, exponential"]
    usable = {info.name for info in gda.solvers() if info.usable}
    assert set(working) == usable > {"analytic", "highspy"}
    assert set(absent) == {info.name for info in gda.solvers()} - usable
    assert all(len(row[-1]) > 5 for row in absent.values())
