"""Data sets by name: of scikit-learn, and of UCI from directories, the cache and real files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gdaopt.datasets import BUILTIN, FROM_UCI, builtin, load
from gdaopt.datasets.builtin import DATA_VARIABLE, PAGE_BLOCKS, SEEDS, UciTable, digest, obtain
from gdaopt.errors import DownloadError, InvalidInputError
from tests.datasets.cases import (
    BLOCKS_TEXT,
    SEEDS_TEXT,
    compressed,
    hide_other_data,
    made_up,
    zipped,
)

REAL = Path(os.environ.get(DATA_VARIABLE) or "GDAOPT_DATA is not set")


@pytest.fixture(autouse=True)
def _no_other_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide_other_data(monkeypatch, tmp_path / "cache")


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("iris", (150, 4), ("setosa", "versicolor", "virginica")),
        ("wine", (178, 13), ("class_0", "class_1", "class_2")),
        ("breast_cancer", (569, 30), ("benign", "malignant")),
    ],
)
def test_data_sets_of_scikit_learn(
    name: str, shape: tuple[int, int], classes: tuple[str, ...], tmp_path: Path
) -> None:
    assert name in BUILTIN
    assert tuple(sorted(BUILTIN)) == BUILTIN
    assert set(FROM_UCI) < set(BUILTIN)
    for data in (load(name), load(name, data_dir=tmp_path)):  # which they do not need
        assert (data.name, data.features.shape, data.classes) == (name, shape, classes)


def test_what_is_not_there() -> None:
    with pytest.raises(InvalidInputError, match="unknown data set 'wines'; did you mean 'wine'"):
        load("wines")
    with pytest.raises(DownloadError, match=r"data set 'seeds' is not in .* By hand: get"):
        load("seeds")


class TestDataDirectory:
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("page-blocks.data.Z", compressed(BLOCKS_TEXT.encode())),
            ("page+blocks+classification.zip", zipped(**{"page-blocks__data": BLOCKS_TEXT})),
        ],
    )
    def test_every_name(self, name: str, content: bytes, tmp_path: Path) -> None:
        (tmp_path / name).write_bytes(content)
        small = made_up(PAGE_BLOCKS, BLOCKS_TEXT)
        table = UciTable(**{**vars(small), "urls": PAGE_BLOCKS.urls})
        assert digest(obtain(table, tmp_path)) == table.sha256

    def test_the_argument_comes_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "seeds_dataset.txt").write_text(SEEDS_TEXT)
        bad = tmp_path / "bad"
        bad.mkdir()
        (bad / "seeds_dataset.txt").write_text("1 2 3\n")
        monkeypatch.setenv(DATA_VARIABLE, str(bad))
        assert load("seeds", data_dir=tmp_path).features.shape == (6, 7)
        with pytest.raises(
            InvalidInputError, match=r"bad.seeds_dataset.txt is not UCI.* it holds 3 n"
        ):
            load("seeds")

    def test_the_cache_comes_last(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        cache = tmp_path / "cache"
        cache.mkdir()
        (cache / "seeds_dataset.txt").write_text(SEEDS_TEXT)
        assert load("seeds").features.shape == (6, 7)
        (tmp_path / "seeds_dataset.txt").write_text("")
        monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
        with pytest.raises(InvalidInputError, match="it holds 0 numbers"):
            load("seeds")
        # A directory without this file may be meant for another one: the cache is used.
        monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "absent"))
        assert load("seeds").features.shape == (6, 7)

    @pytest.mark.parametrize("name", ["seeds", "page_blocks", "pb300"])
    def test_a_directory_without_the_file(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "file").touch()
        for folder in ("", "absent", "file"):
            with pytest.raises(
                InvalidInputError, match=rf"data_dir .*{folder}' has none of .*; put one of them"
            ):
                load(name, data_dir=tmp_path / folder)
        (tmp_path / "seeds_dataset.txt").mkdir()
        with pytest.raises(InvalidInputError, match=r"cannot read .*seeds_dataset.txt: "):
            load("seeds", data_dir=tmp_path)


class TestLoad:
    def test_names_of_features_and_classes(self, tmp_path: Path) -> None:
        (tmp_path / "page-blocks.data").write_text(BLOCKS_TEXT)
        data = load("page_blocks", tmp_path)
        assert (data.name, data.feature_names) == ("page_blocks", PAGE_BLOCKS.feature_names)
        names = ["text", "text", "horizontal line", "graphic", "vertical line", "picture"]
        assert data.labels.tolist() == names

    def test_pb300(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(builtin, "_rows_of_pb300", lambda: np.array([1, 4, 5]))
        (tmp_path / "page-blocks.data").write_text(BLOCKS_TEXT)
        data = load("pb300", tmp_path)
        assert data.name == "pb300"
        assert data.labels.tolist() == ["text", "other", "other"]
        np.testing.assert_array_equal(data.features[:, 0], [6, 60, 30])


def test_the_rows_of_pb300_never_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin, "PAGE_BLOCKS", PAGE_BLOCKS)
    rows = builtin._rows_of_pb300()
    assert rows[:5].tolist() == [2, 3, 11, 13, 20]
    assert digest(rows.astype(np.float64)).startswith("6d11e5b72c4a0e7d")


class TestRealFiles:
    @pytest.fixture(autouse=True)
    def _real_tables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for table in (SEEDS, PAGE_BLOCKS):
            if not (REAL / table.file).exists():
                pytest.skip(f"no {table.file} in the directory {DATA_VARIABLE} ({REAL})")
        monkeypatch.setattr(builtin, "SEEDS", SEEDS)
        monkeypatch.setattr(builtin, "PAGE_BLOCKS", PAGE_BLOCKS)

    def test_they_have_the_recorded_digests(self) -> None:
        assert load("seeds", REAL).features.shape == (210, 7)
        data, whole = load("pb300", REAL), load("page_blocks", REAL)
        assert whole.features.shape == (5473, 10)
        assert data.features.shape == (300, 10)
        assert data.classes == ("other", "text")
        assert int((data.labels == "text").sum()) == 279
        np.testing.assert_array_equal(data.features, whole.features[builtin._rows_of_pb300()])
        text = (data.labels == "text")[:, np.newaxis]
        assert digest(np.hstack([data.features, text])).startswith("c5fe3c795e0e7be7")
