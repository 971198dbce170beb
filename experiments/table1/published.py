"""The error rates that the paper prints."""

from collections.abc import Mapping

DATASETS = ("iris", "wine", "seeds", "pb300")
"""The data sets of the table, by this package's names: the paper's "pb" is most likely the last."""

_NONE = (None, None)

PUBLISHED: Mapping[str, tuple[tuple[float | None, float | None], ...]] = {
    "zhu2003": ((4.61, 4.41), (3.84, 4.88), (7.30, 7.20), _NONE),
    "mao2016": ((4.97, 4.57), (4.61, 5.18), (7.15, 6.93), (4.46, 5.04)),
    "yang2018": ((5.45, 5.49), (4.35, 4.96), (7.78, 7.40), (5.33, 4.51)),
    "gmml": ((6.12, 10.40), (3.58, 4.37), (6.92, 6.63), (4.55, 4.96)),
    "fgl": ((4.35, 4.80), (4.12, 4.36), (7.77, 7.47), (4.44, 4.24)),
    "alternating": ((4.35, 4.12), (4.27, 4.19), (7.10, 6.61), (4.80, 4.23)),
}
"""Error rates in per cent by row, for each of `DATASETS` those of kNN and of GB: Table 1 of Yang,
Cheung, Hu, *Graph Metric Learning via Gershgorin Disc Alignment* (ICASSP 2020)."""


def published(dataset: str, row: str, classifier: str) -> float | None:
    """Return an error rate in per cent; None where the paper has none."""
    if row not in PUBLISHED or dataset not in DATASETS:
        return None
    return PUBLISHED[row][DATASETS.index(dataset)][("knn", "gb").index(classifier)]
