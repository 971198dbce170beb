"""Arguments and options that several commands share: what defines a problem, and its data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gdaopt.datasets import BUILTIN, FROM_UCI

__all__ = [
    "DataDir",
    "EdgeFloor",
    "Label",
    "MinEigenvalue",
    "Positive",
    "Scale",
    "Source",
    "TraceBound",
]

Source = Annotated[
    str,
    typer.Argument(
        metavar="DATASET|FILE.csv",
        help=f"{', '.join(BUILTIN)}, or a CSV file; {', '.join(FROM_UCI)} are downloaded from "
        "UCI on first use",
    ),
]
Label = Annotated[str | None, typer.Option(help="label column of the CSV file (default: the last)")]
DataDir = Annotated[
    Path | None,
    typer.Option(
        help=f"directory with the file of {', '.join(FROM_UCI)} (default: $GDAOPT_DATA, the "
        "cache, or UCI)"
    ),
]
Positive = Annotated[
    str | None, typer.Option(help="class to learn against the rest (default: each in turn)")
]
Scale = Annotated[str, typer.Option(help="zscore (also divides by √(2K)) or none")]
TraceBound = Annotated[
    float | None, typer.Option(help="C, the largest trace (default: K, the number of features)")
]
MinEigenvalue = Annotated[float, typer.Option(help="ρ, the smallest eigenvalue allowed")]
EdgeFloor = Annotated[
    float,
    typer.Option(
        help="ε, for alternating and joint; when positive, edges of weight ≥ ε connect all features"
    ),
]
