"""Data sets of the UCI repository: how files are read, what is refused, and the real ones."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from gdaopt.cli import app
from gdaopt.datasets import BUILTIN, FROM_UCI, builtin, load
from gdaopt.datasets.pb300 import ROWS
from gdaopt.datasets.storage import CACHE_VARIABLE, DATA_VARIABLE, obtain
from gdaopt.datasets.uci import PAGE_BLOCKS, SEEDS, UciTable, digest, read_table
from gdaopt.errors import DownloadError, InvalidInputError
from gdaopt.studies.learning import load_source
from tests.uci_cases import (
    BLOCKS_TEXT,
    SEEDS_TEXT,
    SMALL_BLOCKS,
    SMALL_SEEDS,
    compressed,
    made_up,
    zipped,
)

REAL = Path(os.environ.get(DATA_VARIABLE) or "GDAOPT_DATA is not set")


@pytest.fixture(autouse=True)
def _no_other_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the data files and the cache of whoever runs the tests, and the internet."""
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(builtin, "SEEDS", SMALL_SEEDS)
    monkeypatch.setattr(builtin, "PAGE_BLOCKS", SMALL_BLOCKS)


def gdaopt(*arguments: object, code: int = 0) -> str:
    """Run gdaopt, check its exit code, and return its output with runs of white space as one."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return " ".join((result.stderr if code else result.stdout).split())


class TestReading:
    def test_tabs(self) -> None:
        data = read_table(SMALL_SEEDS, SEEDS_TEXT, "a file")
        assert data.shape == (6, 8)
        np.testing.assert_array_equal(data[1], [14.8, 14.5, 0.88, 5.5, 3.3, 1.0, 4.9, 1])

    def test_fixed_width(self) -> None:
        data = read_table(SMALL_BLOCKS, BLOCKS_TEXT, "a file")
        assert data.shape == (6, 11)
        np.testing.assert_array_equal(data[0, :7], [5, 7, 35, 1.4, 0.4, 0.657, 2.33])
        np.testing.assert_array_equal(data[:, -1], [1, 1, 2, 3, 4, 5])

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: re.sub(r"\t+", " ", text),
            lambda text: text.replace("\t", "\t\t"),
            lambda text: text.replace("\n", "\r\n"),
            lambda text: "\n" + text.rstrip() + "\n\n \t\n",
            lambda text: text.replace("5.0", "5.00").replace("\t1\n", "\t1.0\n"),
        ],
        ids=["blanks", "more tabs", "carriage returns", "empty lines", "other noughts"],
    )
    def test_white_space_and_noughts_do_not_matter(self, change: Callable[[str], str]) -> None:
        assert digest(read_table(SMALL_SEEDS, change(SEEDS_TEXT), "a")) == SMALL_SEEDS.sha256

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "\t4.6\t5.8\t2",
                "\t4.6",
                "tiny.txt, line 4: 6 columns, but seeds has 8; get the file",
            ),
            ("0.84\t", "", "line 5: 7 columns, but seeds has 8"),
            ("0.84\t", "0.84\t7\t", "line 5: 9 columns, but seeds has 8"),
            ("0.84\t", "0,84\t", "line 5: '0,84' is no finite number; get the file anew from http"),
            ("0.84\t", "?\t", r"line 5: '\?' is no finite number"),
            ("0.84\t", "nan\t", "line 5: 'nan' is no finite number"),
            ("0.84\t", "1e999\t", "line 5: '1e999' is no finite number"),
            ("\t\t3\n", "\t\t4\n", "line 5: class 4, but seeds has 1 to 3; get the file anew"),
            ("\t\t3\n", "\t\t0\n", "line 5: class 0,"),
            ("\t\t3\n", "\t\t2.5\n", "line 5: class 2.5,"),
        ],
    )
    def test_refuses_lines(self, old: str, new: str, message: str) -> None:
        assert old in SEEDS_TEXT
        with pytest.raises(InvalidInputError, match=message):
            read_table(SMALL_SEEDS, SEEDS_TEXT.replace(old, new), "tiny.txt")

    @pytest.mark.parametrize(
        ("text", "rows"),
        [
            ("", 0),
            (SEEDS_TEXT.rpartition("12.1")[0], 5),
            (SEEDS_TEXT.replace("0.84", "0.841"), 6),
            ("".join(reversed(SEEDS_TEXT.splitlines(keepends=True))), 6),
        ],
        ids=["empty", "a line less", "another number", "another order"],
    )
    def test_refuses_other_numbers(self, text: str, rows: int) -> None:
        message = rf"a.txt is not UCI's seeds: its {rows} rows of numbers \(of 6\) have the SHA-256"
        with pytest.raises(InvalidInputError, match=message):
            read_table(SMALL_SEEDS, text, "a.txt")


class TestDataDirectory:
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("page-blocks.data", BLOCKS_TEXT.encode()),
            ("page-blocks.data.Z", compressed(BLOCKS_TEXT.encode())),
            (
                "page+blocks+classification.zip",
                zipped(Index="", **{"page-blocks__data__Z": compressed(BLOCKS_TEXT.encode())}),
            ),
        ],
    )
    def test_every_form(self, tmp_path: Path, name: str, content: bytes) -> None:
        (tmp_path / name).write_bytes(content)
        small = made_up(PAGE_BLOCKS, BLOCKS_TEXT)
        table = UciTable(**{**vars(small), "urls": PAGE_BLOCKS.urls})
        assert digest(obtain(table, tmp_path)) == table.sha256

    def test_the_variable(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "seeds_dataset.txt").write_text(SEEDS_TEXT)
        monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
        assert load("seeds").features.shape == (6, 7)

    def test_the_argument_comes_before_the_variable(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "seeds_dataset.txt").write_text(SEEDS_TEXT)
        bad = tmp_path / "bad"
        bad.mkdir()
        (bad / "seeds_dataset.txt").write_text("1 2 3\n")
        monkeypatch.setenv(DATA_VARIABLE, str(bad))
        assert load("seeds", data_dir=tmp_path).features.shape == (6, 7)
        with pytest.raises(InvalidInputError, match=r"bad.seeds_dataset.txt, line 1: 3 columns"):
            load("seeds")

    def test_the_variable_comes_before_the_cache(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cache = tmp_path / "cache"
        cache.mkdir()
        (cache / "seeds_dataset.txt").write_text(SEEDS_TEXT)
        assert load("seeds").features.shape == (6, 7)
        (tmp_path / "seeds_dataset.txt").write_text("")
        monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
        with pytest.raises(InvalidInputError, match="0 rows"):
            load("seeds")
        # A directory that has not this file, but perhaps another, is no reason to stop.
        monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "absent"))
        assert load("seeds").features.shape == (6, 7)

    @pytest.mark.parametrize("name", ["seeds", "page_blocks", "pb300"])
    def test_a_directory_without_the_file(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(InvalidInputError, match=r"data_dir .* has none of .*; put one of them"):
            load(name, data_dir=tmp_path)
        with pytest.raises(InvalidInputError, match=r"absent' has none of"):
            load(name, data_dir=tmp_path / "absent")
        (tmp_path / "file").touch()
        with pytest.raises(InvalidInputError, match=r"file' has none of"):
            load(name, data_dir=tmp_path / "file")

    def test_a_directory_of_that_name(self, tmp_path: Path) -> None:
        (tmp_path / "seeds_dataset.txt").mkdir()
        with pytest.raises(InvalidInputError, match=r"cannot read .*seeds_dataset.txt: "):
            load("seeds", data_dir=tmp_path)

    def test_those_of_scikit_learn_do_not_need_it(self, tmp_path: Path) -> None:
        assert load("iris", data_dir=tmp_path).features.shape == (150, 4)


class TestLoad:
    def test_names(self) -> None:
        assert tuple(sorted(BUILTIN)) == BUILTIN
        assert set(FROM_UCI) < set(BUILTIN)

    def test_names_of_features_and_classes(self, tmp_path: Path) -> None:
        (tmp_path / "page-blocks.data").write_text(BLOCKS_TEXT)
        data = load("page_blocks", tmp_path)
        assert data.name == "page_blocks"
        assert data.feature_names == PAGE_BLOCKS.feature_names
        assert data.labels.tolist() == [
            "text",
            "text",
            "horizontal line",
            "graphic",
            "vertical line",
            "picture",
        ]

    def test_pb300(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(builtin, "ROWS", (1, 4, 5))
        (tmp_path / "page-blocks.data").write_text(BLOCKS_TEXT)
        data = load("pb300", tmp_path)
        assert data.name == "pb300"
        assert data.labels.tolist() == ["text", "other", "other"]
        np.testing.assert_array_equal(data.features[:, 0], [6, 60, 30])

    def test_the_rows_of_pb300_never_change(self) -> None:
        assert digest(np.array([ROWS])).startswith("6d11e5b72c4a0e7d")
        drawn = np.argsort(np.random.PCG64(0).random_raw(PAGE_BLOCKS.rows), kind="stable")[:300]
        assert tuple(sorted(drawn.tolist())) == ROWS


class TestCommandLine:
    @pytest.mark.parametrize("command", ["learn", "compare"])
    @pytest.mark.parametrize("name", FROM_UCI)
    def test_offline(self, command: str, name: str, tmp_path: Path) -> None:
        said = gdaopt(command, name, "--out", tmp_path / "out", code=2)
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

    def test_learn_from_a_directory(self, tmp_path: Path) -> None:
        (tmp_path / "seeds_dataset.txt").write_text(SEEDS_TEXT)
        out = tmp_path / "out"
        options = ("--data-dir", tmp_path, "--positive", "Kama", "--solver", "analytic")
        said = gdaopt("learn", "seeds", *options, "--out", out)
        assert "seeds: 6 samples, K = 7 features, class Kama against the rest" in said
        assert (out / "Kama.npz").exists()

    @pytest.mark.parametrize("command", ["learn", "compare"])
    def test_help(self, command: str) -> None:
        said = gdaopt(command, "--help")
        for name in BUILTIN:
            assert name in said
        assert "UCI" in said
        assert "--data-dir" in said

    @pytest.mark.parametrize("source", ["iris", "leaves.csv"])
    def test_a_directory_for_nothing(self, source: str, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match=rf"--data-dir .* not with {source}; leave it"):
            load_source(source, data_dir=tmp_path)

    def test_a_label_for_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match="--label area goes with a CSV file; seeds has"):
            load_source("seeds", label="area")


class TestRealFiles:
    @pytest.fixture(autouse=True)
    def _real_tables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for table in (SEEDS, PAGE_BLOCKS):
            if not (REAL / table.file).exists():
                pytest.skip(f"no {table.file} in the directory {DATA_VARIABLE} ({REAL})")
        monkeypatch.setattr(builtin, "SEEDS", SEEDS)
        monkeypatch.setattr(builtin, "PAGE_BLOCKS", PAGE_BLOCKS)

    def test_seeds(self) -> None:
        data = load("seeds", REAL)
        assert data.features.shape == (210, 7)
        assert data.labels.tolist() == ["Kama"] * 70 + ["Rosa"] * 70 + ["Canadian"] * 70
        area, perimeter, compactness = data.features[:, :3].T
        np.testing.assert_allclose(compactness, 4 * np.pi * area / perimeter**2, atol=5e-3)

    def test_page_blocks(self) -> None:
        data = load("page_blocks", REAL)
        assert data.features.shape == (5473, 10)
        counts = [int((data.labels == name).sum()) for name in PAGE_BLOCKS.class_names]
        assert counts == [4913, 329, 28, 88, 115]
        height, length, area = data.features[:, :3].T
        np.testing.assert_array_equal(area, height * length)

    def test_pb300(self) -> None:
        data, whole = load("pb300", REAL), load("page_blocks", REAL)
        assert data.features.shape == (300, 10)
        assert data.classes == ("other", "text")
        assert int((data.labels == "text").sum()) == 279
        np.testing.assert_array_equal(data.features, whole.features[list(ROWS)])
        text = (data.labels == "text")[:, np.newaxis]
        assert digest(np.hstack([data.features, text])).startswith("c5fe3c795e0e7be7")

    def test_packed(self, tmp_path: Path) -> None:
        packed = compressed((REAL / "page-blocks.data").read_bytes())
        name = "page+blocks+classification.zip"
        (tmp_path / name).write_bytes(zipped(**{"page-blocks__data__Z": packed}))
        assert load("page_blocks", tmp_path).features.shape == (5473, 10)

    def test_a_cache_filled_by_hand(self, tmp_path: Path) -> None:
        (tmp_path / "cache").mkdir()
        shutil.copy(REAL / "seeds_dataset.txt", tmp_path / "cache")
        assert load("seeds").features.shape == (210, 7)

    def test_the_other_ones_file(self, tmp_path: Path) -> None:
        shutil.copy(REAL / "page-blocks.data", tmp_path / "seeds_dataset.txt")
        with pytest.raises(InvalidInputError, match="line 1: 11 columns, but seeds has 8"):
            load("seeds", tmp_path)


def test_offline_in_python() -> None:
    with pytest.raises(DownloadError, match=r"data set 'seeds' is not in .* By hand: get"):
        load("seeds")
