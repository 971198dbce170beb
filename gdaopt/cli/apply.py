"""``gdaopt apply``: what was learned, on new samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdaopt.cli.output import Output
from gdaopt.errors import InvalidInputError
from gdaopt.support.files import check_writable, write_text


def apply(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="directory of a gdaopt learn")],
    table: Annotated[
        Path,
        typer.Argument(
            metavar="NEW.csv", help="new samples: a CSV file with the columns of the features"
        ),
    ],
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
            help="column of NEW.csv with known labels, to compare with (default: the run's)"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="output file (default: ./NEW-classes.csv or ./NEW-coordinates.csv)"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="replace that file")] = False,
) -> None:
    """Classify or transform new samples by the metrics of a run.

    A sample gets the class that has the largest share among its nearest neighbours, which are
    samples that were learned from. Under several metrics the share of each class is taken under the
    metric of this class against the rest.
    """
    import numpy as np
    import pandas as pd

    from gdaopt.studies.applying import LearnedRun  # scikit-learn is slow to import

    output = Output()
    ending = "coordinates" if transform else "classes"
    path = out or Path(f"{table.stem}-{ending}.csv")
    if path.exists() and not force:
        raise InvalidInputError(f"{path} is there already; pass --force to replace it, or --out")
    check_writable(path)
    learned = LearnedRun.load(run)
    X, labels = learned.read(table, label)
    rows = pd.RangeIndex(1, len(X) + 1, name="row")
    written = pd.DataFrame(index=rows)
    if labels is not None:
        written["label"] = labels
    if transform:
        coordinates = learned.transform(X, class_name)
        written[[f"x{k + 1}" for k in range(X.shape[1])]] = coordinates
    else:
        shares = learned.shares(X, neighbors, class_name)
        classes = np.array(learned.dataset.classes)
        found = classes[shares.argmax(axis=1)]
        written["class"] = found
        written[[f"share of {name}" for name in classes]] = shares
        counts = ", ".join(f"{name}: {(found == name).sum()}" for name in classes)
        output.say(f"{len(X)} samples: {counts}")
        if labels is not None:
            right = int((found == labels).sum())
            output.say(f"{right} of {len(X)} labels are those of the table ({right / len(X):.1%})")
    write_text(path, written.to_csv())
    output.say(f"written to {path}")
