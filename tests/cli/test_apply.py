"""`gdaopt apply`: what was learned, on new samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier

import gdaopt as gda
from gdaopt.datasets import load
from gdaopt.scaling import scale_features
from gdaopt.studies.applying import LearnedRun
from tests.cli.cases import ANALYTIC, interrupt, learn, run, undrawn, write_svmlight

IRIS = load("iris")


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Return CSV files of two thirds and one third of iris, and a run on the first."""
    folder = tmp_path_factory.mktemp("apply")
    table = pd.DataFrame(IRIS.features, columns=list(IRIS.feature_names))
    table["kind"] = IRIS.labels
    is_new = np.arange(len(table)) % 3 == 0
    table[~is_new].to_csv(folder / "known.csv", index=False)
    table[is_new].to_csv(folder / "new.csv", index=False)
    with undrawn():
        learn(folder / "known.csv", *ANALYTIC, "--out", folder / "run")
    return folder / "known.csv", folder / "new.csv", folder / "run"


@pytest.fixture(scope="module")
def sparse_split(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Return the same as svmlight files, with the classes 1, 2 and 3."""
    folder = tmp_path_factory.mktemp("sparse")
    is_new = np.arange(len(IRIS.labels)) % 3 == 0
    known, new = (
        write_svmlight(folder / f"{name}.svm", IRIS.features[rows], IRIS.labels[rows])
        for name, rows in (("known", ~is_new), ("new", is_new))
    )
    with undrawn():
        learn(known, "--tolerance", 1e-2, "--out", folder / "run")
    return known, new, folder / "run"


@pytest.fixture(params=["split", "sparse_split"])
def either(request: pytest.FixtureRequest) -> tuple[Path, Path, Path]:
    """Return files of either kind."""
    files: tuple[Path, Path, Path] = request.getfixturevalue(request.param)
    return files


def apply(*arguments: object, code: int = 0) -> str:
    return run("apply", *arguments, code=code)


def neighbors(folder: Path, name: str, n_neighbors: int, scale: str = "unit") -> Any:
    """Return scikit-learn's neighbours under the metric of a class, and its scaled new samples."""
    is_new = np.arange(len(IRIS.labels)) % 3 == 0
    known, labels = IRIS.features[~is_new], IRIS.labels[~is_new]
    metric = gda.Result.load(folder / f"{name}.npz").metric
    root = scipy.linalg.cholesky(metric)
    judge = KNeighborsClassifier(n_neighbors).fit(scale_features(known, scale) @ root.T, labels)
    return judge, scale_features(IRIS.features[is_new], scale, known) @ root.T


@pytest.mark.parametrize("n_neighbors", [1, 5, 12])
@pytest.mark.parametrize("name", IRIS.classes)
def test_one_metric_is_that_of_scikit_learns_neighbors(
    split: tuple[Path, Path, Path], tmp_path: Path, name: str, n_neighbors: int
) -> None:
    _, new, folder = split
    out = tmp_path / "out.csv"
    apply(folder, new, "--class", name, "--neighbors", n_neighbors, "--out", out)
    judge, coordinates = neighbors(folder, name, n_neighbors)
    found = pd.read_csv(out, dtype=str)  # older versions of pandas lose the last digits of numbers
    assert found["class"].tolist() == judge.predict(coordinates).tolist()
    np.testing.assert_array_equal(
        found[[f"share of {name}" for name in IRIS.classes]].astype(float),
        judge.predict_proba(coordinates),
    )


def test_each_class_is_judged_by_its_own_metric(
    split: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    _, new, folder = split
    shares = []
    for k, name in enumerate(IRIS.classes):
        judge, coordinates = neighbors(folder, name, 5)
        shares.append(judge.predict_proba(coordinates)[:, k])
    expected = np.array(IRIS.classes)[np.column_stack(shares).argmax(axis=1)]
    output = apply(folder, new, "--label", "kind", "--out", tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert found["row"].tolist() == list(range(1, 51))
    assert found["class"].tolist() == expected.tolist()
    truth = pd.read_csv(new)["kind"]
    assert found["label"].tolist() == truth.tolist()
    right = int((found["class"] == truth).sum())
    assert right >= 45
    assert f"{right} of 50 labels are those of the file" in output


def test_coordinates_have_the_distances_of_the_metric(
    split: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    _, new, folder = split
    apply(folder, new, "--transform", "--class", "setosa", "--out", tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")[["x1", "x2", "x3", "x4"]].to_numpy()
    _, coordinates = neighbors(folder, "setosa", 1)
    for i, j in [(0, 1), (7, 40), (3, 49)]:
        mine, theirs = (np.linalg.norm(rows[i] - rows[j]) for rows in (found, coordinates))
        assert mine == pytest.approx(theirs, rel=1e-9)


def test_the_order_of_columns_and_others_do_not_matter(
    split: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    _, new, folder = split
    table = pd.read_csv(new)
    table.insert(0, "id", np.arange(len(table)))
    table[table.columns[::-1]].to_csv(tmp_path / "mixed.csv", index=False, sep=";", decimal=",")
    apply(folder, new, "--out", tmp_path / "one.csv")
    apply(folder, tmp_path / "mixed.csv", "--out", tmp_path / "other.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()


def test_two_classes_have_one_metric(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.standard_normal((30, 2)), columns=["a", "b"])
    table["kind"] = np.where(table["a"] > 0, "pos", "neg")
    table.to_csv(tmp_path / "t.csv", index=False)
    with undrawn():
        said = learn(tmp_path / "t.csv", *ANALYTIC, "--out", tmp_path / "run")
    assert "class pos against class neg" in said
    assert set(json.loads((tmp_path / "run" / "result.json").read_text())["classes"]) == {"pos"}
    apply(tmp_path / "run", tmp_path / "t.csv", "--neighbors", 1, "--out", tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["class"].tolist() == table["kind"].tolist()
    apply(tmp_path / "run", tmp_path / "t.csv", "--transform", "--out", tmp_path / "x.csv")


def test_sparse_samples_are_classified_by_scikit_learns_neighbors(
    sparse_split: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    _, new, folder = sparse_split
    judge, coordinates = neighbors(folder, "2", 5)
    out = tmp_path / "out.csv"
    said = apply(folder, new, "--class", "2", "--out", out)
    found = pd.read_csv(out, dtype=str)
    classes = np.array(IRIS.classes)
    expected = np.searchsorted(classes, judge.predict(coordinates)) + 1
    assert found["class"].tolist() == expected.astype(str).tolist()
    truth = np.searchsorted(classes, IRIS.labels[::3]) + 1
    assert found["label"].tolist() == truth.astype(str).tolist()
    assert f"{(expected == truth).sum()} of 50 labels are those of the file" in said

    apply(folder, new, "--transform", "--class", "2", "--out", tmp_path / "x.svmlight")
    X, labels = gda.datasets.read_svmlight(tmp_path / "x.svmlight", n_features=4)
    assert labels.tolist() == truth.tolist()
    found_distances = euclidean_distances(X)
    np.testing.assert_allclose(found_distances, euclidean_distances(coordinates), atol=1e-6)


def test_new_sparse_samples_keep_the_indices_of_the_run(
    sparse_split: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """Without feature 1, or labels of the run's classes, in any of them."""
    _, _, folder = sparse_split
    new = tmp_path / "new.svm"
    new.write_text("0 2:3.5 3:1.4\n0 3:1.5\n")
    X, labels = LearnedRun.load(folder).read(new)
    np.testing.assert_array_equal(X.toarray(), [[0, 3.5, 1.4, 0], [0, 0, 1.5, 0]])
    assert labels is None
    said = apply(folder, new, "--out", tmp_path / "out.csv")
    assert "labels" not in said
    new.write_text("0 5:1\n")
    said = apply(folder, new, "--out", tmp_path / "other.csv", code=2)
    assert "holds the index 5; of 4 features counted from 1 the last is 4" in said
    new.write_text("0 0:1\n")
    said = apply(folder, new, "--out", tmp_path / "other.csv", code=2)
    assert "holds an index 0, and indices are counted from 1" in said


def test_samples_of_the_other_kind_are_refused(
    split: tuple[Path, Path, Path], sparse_split: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    out = ("--out", tmp_path / "out.csv")
    for arguments, message in [
        ((split[2], sparse_split[1]), "is not a CSV file, in which new samples of this run have"),
        ((sparse_split[2], split[1]), "is not an svmlight file (.svm, .svmlight or .libsvm)"),
        ((sparse_split[2], sparse_split[1], "--label", "x"), "--label x goes with a CSV file"),
    ]:
        assert message in apply(*arguments, *out, code=2)
    assert not (tmp_path / "out.csv").exists()


def test_the_metric_and_the_scaling_as_plain_files(split: tuple[Path, Path, Path]) -> None:
    known, _, folder = split
    metric = pd.read_csv(folder / "setosa-metric.csv", index_col="feature", dtype=str).astype(float)
    assert tuple(metric.columns) == tuple(metric.index) == IRIS.feature_names
    np.testing.assert_array_equal(metric.to_numpy(), gda.Result.load(folder / "setosa.npz").metric)
    scaling = json.loads((folder / "result.json").read_text())["scaling"]
    X = pd.read_csv(known).iloc[:, :-1].to_numpy()
    np.testing.assert_allclose(
        (X - scaling["means"]) / scaling["spreads"], scale_features(X), rtol=1e-12, atol=1e-14
    )


def test_refuses(split: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, new, folder = split
    out = ("--out", tmp_path / "out.csv")
    for arguments, message in [
        ((tmp_path, new), "holds no run of gdaopt learn"),
        ((folder, tmp_path / "absent.csv"), "cannot read"),
        ((folder, new, "--class", "setos"), "did you mean 'setosa'"),
        ((folder, new, "--transform"), "metrics of the classes setosa, versicolor, virginica"),
        ((folder, new, "--neighbors", 0), "neighbors must be at least 1, got 0"),
        ((folder, new, "--neighbors", 101), "neighbors must be at most 100"),
        ((folder, new, "--label", "class"), "has no column 'class' for --label"),
    ]:
        assert message in apply(*arguments, *out, code=2)
    assert not (tmp_path / "out.csv").exists()
    (tmp_path / "other.csv").write_text("length,kind\n1,x\n", encoding="utf-8")
    assert "has no column 'sepal length (cm)'" in apply(folder, tmp_path / "other.csv", code=2)
    (tmp_path / "out.csv").write_text("mine", encoding="utf-8")
    assert "is there already" in apply(folder, new, *out, code=2)
    assert (tmp_path / "out.csv").read_text() == "mine"
    apply(folder, new, *out, "--force")


@pytest.mark.parametrize("method", ["read", "shares"])
def test_interrupted(either: tuple[Path, Path, Path], tmp_path: Path, method: str) -> None:
    _, new, folder = either
    out = tmp_path / "out.csv"
    with interrupt(1, LearnedRun, method):
        output = apply(folder, new, "--out", out, code=130)
    assert output.startswith("interrupted: a file is written as a whole or not at all")
    assert not out.exists()


@pytest.mark.parametrize("kind", ["samples", "result"])
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_damaged_run(
    either: tuple[Path, Path, Path], tmp_path: Path, kind: str, damage: str
) -> None:
    _, new, folder = either
    record = json.loads((folder / "result.json").read_text())
    file = record["samples_file"] if kind == "samples" else next(iter(record["classes"])) + ".npz"
    copy = tmp_path / "run"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    content = (copy / file).read_bytes()
    (copy / file).unlink()
    if damage == "cut":
        (copy / file).write_bytes(content[: len(content) // 2])
    message = "does not hold a whole run of gdaopt learn"
    assert message in apply(copy, new, "--out", tmp_path / "out.csv", code=2)


def test_a_file_that_cannot_be_written_is_refused_before_any_work(
    split: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """Before the run is read, which is not even there; nothing is left behind."""
    _, new, _ = split
    for out, reason in (
        (tmp_path / "absent" / "out.csv", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ):
        said = apply(tmp_path / "no run", new, "--out", out, "--force", code=2)
        assert f"cannot write {out}: {reason}" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("value", "advice"), [("", "gdaopt learn --impute mean"), ("wide", "correct them")]
)
def test_advice_on_new_samples_has_no_options_of_learn(
    split: tuple[Path, Path, Path], tmp_path: Path, value: str, advice: str
) -> None:
    _, new, folder = split
    table = pd.read_csv(new, dtype=str)
    table.iloc[3, 1] = value
    table.to_csv(tmp_path / "new.csv", index=False)
    said = apply(folder, tmp_path / "new.csv", "--out", tmp_path / "out.csv", code=2)
    assert "holds" in said
    assert "in row 4" in said
    assert advice in said
    for option in ("--drop", "--label"):
        assert option not in said
