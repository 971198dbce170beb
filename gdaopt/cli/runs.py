"""``gdaopt apply`` and ``gdaopt plot``: saved runs on new samples, and their pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdaopt.cli import options as option
from gdaopt.cli.output import Output
from gdaopt.datasets import TableFormat
from gdaopt.datasets.svmlight import is_svmlight
from gdaopt.errors import InvalidInputError
from gdaopt.studies.pictures import select_runs, write_pictures
from gdaopt.studies.saved_runs import read_runs
from gdaopt.studies.study_directory import sole_writer
from gdaopt.support.files import check_writable, write_text
from gdaopt.support.validation import as_path


@option.spread
def apply(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="directory of a gdaopt learn")],
    new: Annotated[
        Path,
        typer.Argument(
            metavar="NEW",
            help="new samples: a table with the columns of the features, or, where the run has "
            "learned from one, an svmlight file",
        ),
    ],
    *,
    transform: Annotated[
        bool,
        typer.Option(
            "--transform",
            help="write coordinates in which the Euclidean distance is the learned one, instead "
            "of classes",
        ),
    ] = False,
    neighbors: Annotated[int, typer.Option(help="how many nearest neighbours vote")] = 5,
    class_name: Annotated[
        str | None,
        typer.Option(
            "--class",
            help="class whose metric is used alone (default: each class is judged by its own)",
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            help="column of NEW with known labels, to compare with (default: the run's)",
        ),
    ] = None,
    form: TableFormat,
    out: Annotated[
        Path | None,
        typer.Option(
            help="output file (default: ./NEW-classes.csv or ./NEW-coordinates.csv; coordinates "
            "of an svmlight file are another one)"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="replace that file")] = False,
) -> None:
    """Classify or transform new samples by the metrics of a run.

    A sample gets the class that has the largest share among its nearest neighbours, which are
    samples that were learned from. Under several metrics the share of each class is taken under the
    metric of this class against the rest.
    """
    import numpy as np

    # scikit-learn is slow to import
    from gdaopt.studies.applying import LearnedRun, compare_with_labels, coordinates_text

    output = Output()
    ending = "classes.csv"
    if transform:
        ending = "coordinates.svmlight" if is_svmlight(new) else "coordinates.csv"
    path = as_path("out", out or f"{new.stem}-{ending}")
    if path.exists() and not force:
        raise InvalidInputError(f"{path} is there already; pass --force to replace it, or --out")
    check_writable(path)
    learned = LearnedRun.load(run)
    samples = learned.read(new, label, form)
    X, labels = samples.features, samples.labels
    for note in (*samples.notes, *learned.describe_overlap(X)):
        output.say(f"note: {note}")
    if transform:
        text = coordinates_text(learned.transform(X, class_name), samples)
    else:
        written = samples.ids.rename_axis("row")
        if labels is not None:
            written["label"] = labels
        shares = learned.shares(X, neighbors, class_name)
        classes = np.array(learned.dataset.classes)
        predicted = classes[shares.argmax(axis=1)]
        written["class"] = predicted
        written[[f"share of {name}" for name in classes]] = shares
        counts = ", ".join(f"{name}: {(predicted == name).sum()}" for name in classes)
        output.say(f"{X.shape[0]} samples: {counts}")
        if labels is not None:
            for sentence in compare_with_labels(predicted, labels, classes):
                output.say(sentence)
        text = written.to_csv()
    write_text(path, text)
    output.say(f"written to {path}")


def plot(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR|FILE...",
            help="what gdaopt learn or gdaopt compare wrote, or saved results (npz)",
        ),
    ],
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="a run to draw, by its name in the pictures; several with several --only "
            "(default: all)",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="output directory (default: DIR; else ./gdaopt-plots)"),
    ] = None,
    picture_format: Annotated[
        str, typer.Option("--format", metavar="png|pdf|svg", help="of the pictures")
    ] = "png",
) -> None:
    """Draw saved runs: convergence, Gershgorin discs, left-ends, times, and graphs.

    Several directories are compared in the same pictures. Where there are many runs, pictures show
    the first of them; --only chooses others. Earlier pictures are replaced, no other files. Exit
    code 75: another command is writing to the output directory.
    """
    paths = [as_path("path", path) for path in paths]
    runs = read_runs(paths)
    if only:
        runs = select_runs(runs, only)
    default = paths[0] if len(paths) == 1 and paths[0].is_dir() else "gdaopt-plots"
    folder = as_path("out", out or default)
    title = ", ".join(path.resolve().name for path in paths)
    output = Output()
    with sole_writer(folder):
        paths = write_pictures(runs, folder, title, suffix=picture_format)
    for path in paths:
        output.say(str(path))
