"""`gdaopt apply`: what was learned, on new samples."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.linalg
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier

import gdaopt as gda
from gdaopt.datasets import TableFormat, load
from gdaopt.scaling import scale_features
from gdaopt.studies.applying import LearnedRun
from tests.cli.cases import (
    ANALYTIC,
    PAPER,
    content,
    interrupt,
    learn,
    record,
    run,
    undrawn,
    write_svmlight,
)
from tests.studies.cases import names

IRIS = load("iris")
NEW = np.arange(len(IRIS.labels)) % 3 == 0
Split = tuple[Path, Path, Path]


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    """Return CSV files of two thirds and one third of iris, and a run on the first."""
    folder = tmp_path_factory.mktemp("apply")
    table = pd.DataFrame(IRIS.features, columns=list(IRIS.feature_names)).assign(kind=IRIS.labels)
    table[~NEW].to_csv(folder / "known.csv", index=False)
    table[NEW].to_csv(folder / "new.csv", index=False)
    with undrawn():
        learn(folder / "known.csv", *PAPER, *ANALYTIC, "--out", folder / "run")
    return folder / "known.csv", folder / "new.csv", folder / "run"


@pytest.fixture(scope="module")
def sparse_split(tmp_path_factory: pytest.TempPathFactory) -> Split:
    """Return the same as svmlight files, with the classes 1, 2 and 3."""
    folder = tmp_path_factory.mktemp("sparse")
    known, new = (
        write_svmlight(folder / f"{name}.svm", IRIS.features[rows], IRIS.labels[rows])
        for name, rows in (("known", ~NEW), ("new", NEW))
    )
    with undrawn():
        learn(known, *PAPER, "--tolerance", 1e-2, "--out", folder / "run")
    return known, new, folder / "run"


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run on classes 0 and 1 that lie apart."""
    folder = tmp_path_factory.mktemp("numbered")
    rows = [f"{k % 2 * 9 + k / 50},{k % 2},{k % 2}" for k in range(20)]
    (folder / "known.csv").write_text("\n".join(["a,b,kind", *rows]))
    with undrawn():
        learn(folder / "known.csv", *ANALYTIC, "--out", folder / "run")
    return folder / "run"


@pytest.fixture(params=["split", "sparse_split"])
def either(request: pytest.FixtureRequest) -> Split:
    """Return files of either kind."""
    files: Split = request.getfixturevalue(request.param)
    return files


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.csv"


def apply(*arguments: object, code: int = 0) -> str:
    return run("apply", *arguments, code=code)


def neighbors(folder: Path, name: str, n_neighbors: int) -> Any:
    """Return scikit-learn's neighbours under the metric of a class, and its scaled new samples."""
    known = IRIS.features[~NEW]
    root = scipy.linalg.cholesky(gda.Result.load(folder / f"{name}.npz").metric)
    judge = KNeighborsClassifier(n_neighbors)
    judge.fit(scale_features(known, "unit") @ root.T, IRIS.labels[~NEW])
    return judge, scale_features(IRIS.features[NEW], "unit", known) @ root.T


@pytest.mark.parametrize("n_neighbors", [1, 5, 12])
@pytest.mark.parametrize("place", range(3))
def test_one_metric_is_that_of_scikit_learns_neighbors(
    either: Split, out: Path, place: int, n_neighbors: int
) -> None:
    _, new, folder = either
    classes = [*record(folder)["metrics"]]
    name, names_of = classes[place], dict(zip(IRIS.classes, classes, strict=True))
    said = apply(folder, new, "--class", name, "--neighbors", n_neighbors, "--out", out)
    judge, coordinates = neighbors(folder, name, n_neighbors)
    found = pd.read_csv(out, dtype=str)  # older versions of pandas lose the last digits of numbers
    expected, truth = judge.predict(coordinates), IRIS.labels[NEW]
    assert found["class"].tolist() == [names_of[each] for each in expected]
    assert found["label"].tolist() == [names_of[each] for each in truth]
    assert f"{(expected == truth).sum()} of 50 labels are those of the file" in said
    shares = found[[f"share of {each}" for each in classes]].astype(float)
    np.testing.assert_array_equal(shares, judge.predict_proba(coordinates))


def test_each_class_is_judged_by_its_own_metric(split: Split, out: Path) -> None:
    _, new, folder = split
    shares = []
    for k, name in enumerate(IRIS.classes):
        judge, coordinates = neighbors(folder, name, 5)
        shares.append(judge.predict_proba(coordinates)[:, k])
    expected = np.array(IRIS.classes)[np.column_stack(shares).argmax(axis=1)]
    output = apply(folder, new, "--out", out)  # the column of labels is that of the run
    found = pd.read_csv(out)
    assert found["row"].tolist() == list(range(1, 51))
    assert found["class"].tolist() == expected.tolist()
    truth = pd.read_csv(new)["kind"]
    assert found["label"].tolist() == truth.tolist()
    right = int((found["class"] == truth).sum())
    assert right >= 45
    assert f"{right} of 50 labels are those of the file" in output
    assert apply(folder, new, "--label", "kind", "--out", out, "--force") == output


def test_coordinates_have_the_distances_of_the_metric(either: Split, tmp_path: Path) -> None:
    _, new, folder = either
    name, out = next(iter(record(folder)["metrics"])), tmp_path / f"x{new.suffix}"
    apply(folder, new, "--transform", "--class", name, "--out", out)
    found: Any
    if new.suffix == ".csv":
        found, atol = pd.read_csv(out)[["x1", "x2", "x3", "x4"]].to_numpy(), 1e-7
    else:
        atol = 1e-6
        found, labels = gda.datasets.read_svmlight(out, n_features=4)
        assert labels.tolist() == gda.datasets.read_svmlight(new)[1].tolist()
    _, coordinates = neighbors(folder, name, 1)
    expected = euclidean_distances(coordinates)
    np.testing.assert_allclose(euclidean_distances(found), expected, rtol=1e-6, atol=atol)


def test_the_order_of_columns_and_others_do_not_matter(split: Split, tmp_path: Path) -> None:
    _, new, folder = split
    table = pd.read_csv(new)
    table.insert(0, "noise", np.arange(len(table)))
    table[table.columns[::-1]].to_csv(tmp_path / "mixed.csv", index=False, sep=";", decimal=",")
    apply(folder, new, "--out", tmp_path / "one.csv")
    apply(folder, tmp_path / "mixed.csv", "--out", tmp_path / "other.csv")
    assert content(tmp_path)["one.csv"] == content(tmp_path)["other.csv"]


def test_ids_are_kept(tmp_path: Path, out: Path) -> None:
    """The columns that the run left out as IDs stand before the classes, and coordinates."""
    lines = ["Patient Nr;size;name;kind", *(f"{900 + k};{k % 7},5;n{k};{k % 2}" for k in range(30))]
    known = tmp_path / "known.csv"
    known.write_text("\n".join(lines))
    with undrawn():
        said = learn(known, *ANALYTIC, "--out", tmp_path / "run")
    assert "column 'Patient Nr' numbers the rows and is left out" in said
    assert "one metric is learned for both classes" in said
    said = apply(tmp_path / "run", known, "--out", out)
    assert "note: all of the 30 samples are among those learned from" in said
    found = pd.read_csv(out)
    assert found["Patient Nr"].tolist() == [*range(900, 930)]
    assert found.columns[:5].tolist() == ["row", "Patient Nr", "name", "label", "class"]
    apply(tmp_path / "run", known, "--transform", "--out", out, "--force")
    assert pd.read_csv(out).columns.tolist() == ["row", "Patient Nr", "name", "label", "x1"]


@pytest.mark.parametrize(
    ("write", "right", "note"),
    [
        (lambda k: f"{k}.0", "20 of 20 labels are those of the file (100.0%)", None),
        (lambda k: f"0{k}" if k else "-0", "20 of 20 labels", None),
        (
            lambda k: str(k) if k else "?",
            "10 of 10 labels are those of the file (100.0%); 10 are m",
            None,
        ),
        (lambda k: "NA", None, None),
        (
            lambda k: str(2 * k + 1),
            "0 of 20 labels",
            "10 labels of the file, such as '3', are no cl",
        ),
        (
            lambda k: "one" if k else "0",
            "10 of 20",
            "10 labels of the file, such as 'one', are no cl",
        ),
    ],
)
def test_labels_are_compared_as_numbers(
    write: Callable[[int], str], right: str | None, note: str | None, numbered: Path, tmp_path: Path
) -> None:
    """1.0 was not 1, without a word; and what is no label, or no class, is said."""
    rows = [f"{k % 2 * 9 + k / 100 + 0.003},{k % 2},{write(k % 2)}" for k in range(20)]
    (tmp_path / "new.csv").write_text("\n".join(["a,b,kind", *rows]))
    said = apply(numbered, tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    assert (right or "") in said
    assert ("labels are those of the file" in said) == (right is not None)
    assert (note or "") in said
    assert ("note: " in said) == (note is not None)
    found = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert found["class"].tolist() == ["0", "1"] * 10


def test_the_marks_are_those_of_the_run(tmp_path: Path, out: Path) -> None:
    """Unless some are given: 1,234 may be one thousand, and 900 stands beside it."""
    rows = [f"{'1,234' if k % 2 else 900 + k}\t{k % 2}\tc{k % 2}" for k in range(10)]
    known, new = tmp_path / "known.csv", tmp_path / "new.csv"
    known.write_text("\n".join(["a\tb\tkind", *rows]))
    with undrawn():
        learn(known, "--thousands", ",", *ANALYTIC, "--out", tmp_path / "run")
    assert LearnedRun.load(tmp_path / "run").dataset.features[:, 0].mean() == 1069.0
    new.write_text("a\tb\n1,234\t1\n900\t0\n")
    run_ = LearnedRun.load(tmp_path / "run")
    np.testing.assert_array_equal(run_.read(new).features, [[1234, 1], [900, 0]])
    apply(tmp_path / "run", new, "--decimal", ",", "--thousands", ".", "--out", out)
    form = TableFormat(decimal=",", thousands=".")
    np.testing.assert_array_equal(run_.read(new, form=form).features, [[1.234, 1], [900, 0]])


def test_new_sparse_samples_keep_the_indices_of_the_run(
    sparse_split: Split, tmp_path: Path
) -> None:
    """Without feature 1, or labels of the run's classes, in any of them."""
    folder, new = sparse_split[2], tmp_path / "new.svm"
    new.write_text("0 2:3.5 3:1.4\n0 3:1.5\n")
    samples = LearnedRun.load(folder).read(new)
    np.testing.assert_array_equal(samples.features.toarray(), [[0, 3.5, 1.4, 0], [0, 0, 1.5, 0]])
    assert samples.labels is None
    assert "labels" not in apply(folder, new, "--out", tmp_path / "out.csv")


def test_the_metric_and_the_scaling_as_plain_files(split: Split) -> None:
    known, _, folder = split
    metric = pd.read_csv(folder / "setosa-metric.csv", index_col="feature", dtype=str).astype(float)
    assert tuple(metric.columns) == tuple(metric.index) == IRIS.feature_names
    np.testing.assert_array_equal(metric, gda.Result.load(folder / "setosa.npz").metric)
    spreads = record(folder)["metrics"]["setosa"]["spreads"]
    X = pd.read_csv(known).iloc[:, :-1].to_numpy()
    scaled = (X - X.mean(axis=0)) / spreads
    np.testing.assert_allclose(scaled, scale_features(X), rtol=1e-12, atol=1e-14)


def test_the_fitted_learner_is_a_pipeline_with_the_columns_names(split: Split, out: Path) -> None:
    """Which `joblib.load` reads, and which classifies a data frame."""
    known, new, _ = split
    with undrawn():
        learn(known, "--out", out.parent / "run")
    pipeline = joblib.load(out.parent / "run" / "learned.joblib")
    table = pd.read_csv(new)
    assert tuple(pipeline.feature_names_in_) == IRIS.feature_names
    own = gda.MetricLearner().fit(IRIS.features[~NEW], IRIS.labels[~NEW])
    np.testing.assert_allclose(pipeline[0].metric_, own.metric_, rtol=1e-9, atol=1e-12)
    apply(out.parent / "run", new, "--out", out)
    found = pd.read_csv(out)["class"].tolist()
    assert pipeline.predict(table[list(IRIS.feature_names)]).tolist() == found


# --- What it refuses -----------------------------------------------------------------------------


def changed(value: str) -> str:
    """Return the new samples with another entry in the fourth row."""
    table = pd.DataFrame(IRIS.features[NEW], columns=list(IRIS.feature_names)).astype(str)
    table.iloc[3, 1] = value
    return table.to_csv(index=False)


TABLE, SPARSE = ("split", "new.csv"), ("sparse_split", "new.svm")


@pytest.mark.parametrize(
    ("source", "file", "text", "arguments", "message"),
    [
        ("split", "absent.csv", None, (), "cannot read"),
        (*TABLE, None, ("--class", "setos"), "did you mean 'setosa'"),
        (*TABLE, None, ("--transform",), "metrics of the classes setosa, versicolor, virginica"),
        (*TABLE, None, ("--neighbors", 0), "neighbors must be at least 1, got 0"),
        (*TABLE, None, ("--neighbors", 101), "neighbors must be at most 100"),
        (*TABLE, None, ("--label", "class"), "has no column 'class' for --label"),
        ("split", "my.csv", "length,kind\n1,x\n", (), "has no column 'sepal length (cm)'"),
        ("split", "my.csv", changed(""), (), "no value ('') in row 4.*with --impute mean"),
        ("split", "my.csv", changed("wide"), (), "holds 'wide' in row 4, which is no number"),
        ("split", "my.svm", "1 1:1\n", (), "is not a table, in which new samples of this run"),
        ("sparse_split", "my.csv", "a\n1\n", (), "is not an svmlight file (.svm, .svmlight or .li"),
        (*SPARSE, None, ("--label", "x"), "--label x goes with a table"),
        (*SPARSE, None, ("--decimal", ","), "--decimal , goes with a table"),
        (
            *TABLE,
            None,
            ("--thousands", ";"),
            "thousands must be a comma, a point, an apostrophe or",
        ),
        ("sparse_split", "my.svm", "0 5:1\n", (), "index 5; of 4 features counted from 1 the last"),
        ("sparse_split", "my.svm", "0 0:1\n", (), "an index 0, and indices are counted from 1"),
    ],
)
def test_is_refused(
    source: str,
    file: str,
    text: str | None,
    arguments: tuple[object, ...],
    message: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    _, new, folder = request.getfixturevalue(source)
    path = new if file == new.name else tmp_path / file
    if text is not None:
        path.write_text(text)
    before = content(tmp_path)
    said = apply(folder, path, *arguments, "--out", tmp_path / "out.csv", code=2)
    assert all(part in said for part in message.split(".*"))
    assert "--drop" not in said
    assert ("--label" in said) == ("--label" in arguments)
    assert content(tmp_path) == before


def test_directories_without_a_run_and_files_that_are_there(
    split: Split, tmp_path: Path, out: Path
) -> None:
    _, new, folder = split
    assert "holds no run of gdaopt learn" in apply(tmp_path, new, "--out", out, code=2)
    out.write_text("mine")
    assert "is there already" in apply(folder, new, "--out", out, code=2)
    assert out.read_text() == "mine"
    apply(folder, new, "--out", out, "--force")
    assert out.read_text() != "mine"


@pytest.mark.parametrize("method", ["read", "shares"])
def test_interrupted(either: Split, out: Path, method: str) -> None:
    _, new, folder = either
    with interrupt(1, LearnedRun, method):
        output = apply(folder, new, "--out", out, code=130)
    assert output.startswith("interrupted: a file is written as a whole or not at all")
    assert not out.exists()


@pytest.mark.parametrize("kind", ["samples", "result"])
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_damaged_run(either: Split, tmp_path: Path, kind: str, damage: str) -> None:
    _, new, folder = either
    copy = Path(shutil.copytree(folder, tmp_path / "run"))
    said = record(copy)
    file = copy / (
        said["samples_file"] if kind == "samples" else f"{next(iter(said['metrics']))}.npz"
    )
    whole = file.read_bytes()
    file.unlink()
    if damage == "cut":
        file.write_bytes(whole[: len(whole) // 2])
    message = (
        "does not hold a whole run of gdaopt learn"
        if kind == "samples"
        else "yet: finish it by the same command"
    )
    assert message in apply(copy, new, "--out", tmp_path / "out.csv", code=2)


@pytest.mark.parametrize(
    ("out", "reason"), [("absent/out.csv", "No such file or directory"), (".", "Is a directory")]
)
def test_a_file_that_cannot_be_written_is_refused_before_any_work(
    out: str, reason: str, tmp_path: Path
) -> None:
    """Before the run is read, which is not even there; nothing is left behind."""
    path = tmp_path / out
    said = apply(tmp_path / "no run", "new.csv", "--out", path, "--force", code=2)
    assert f"cannot write {path}: {reason}" in said
    assert names(tmp_path) == set()
