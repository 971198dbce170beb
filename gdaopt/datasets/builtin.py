"""The data sets known by name: three from scikit-learn, three from the UCI repository."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from gdaopt.datasets.dataset import Dataset
from gdaopt.datasets.uci import PAGE_BLOCKS, SEEDS, obtain
from gdaopt.support.validation import as_path, check_name

FROM_UCI = ("page_blocks", "pb300", "seeds")
"""The names among `BUILTIN` whose data is downloaded when it is first used."""

BUILTIN = ("breast_cancer", "iris", *FROM_UCI, "wine")
"""The names that `load` knows."""


def load(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Return a data set that is known by name, its features unscaled.

    Parameters
    ----------
    name : {"breast_cancer", "iris", "page_blocks", "pb300", "seeds", "wine"}
        The data set. The first two and the last are part of scikit-learn.

        ``"seeds"``: 210 kernels of wheat of three varieties, 70 each, with 7 geometric features
        [1]_.

        ``"page_blocks"``: 5473 blocks of scanned pages, which are text or one of four other kinds,
        with 10 features [2]_.

        ``"pb300"``: 300 rows of page_blocks, always the same of a random draw, in two classes: 279
        ``"text"`` and 21 ``"other"``.
    data_dir : path-like, optional
        A directory with the file of seeds (``seeds_dataset.txt`` or ``seeds.zip``) or of
        page_blocks and pb300 (``page-blocks.data``, ``page-blocks.data.Z`` or
        ``page+blocks+classification.zip``). By default the file is looked for in the directory that
        the environment variable ``GDAOPT_DATA`` names, then in the cache
        (`gdaopt.datasets.uci.cache_directory`), and is then downloaded from UCI. The data
        sets of scikit-learn need no file.

    Returns
    -------
    Dataset
        With the names of features and classes that scikit-learn or UCI gives.

    Raises
    ------
    InvalidInputError
        When there is no such data set; when `data_dir` has no file of it, or a file that holds
        something else.
    DownloadError
        When the data set has to be downloaded, and the download fails. The message says how to get
        the file by hand.

    Warns
    -----
    UserWarning
        When the downloaded file cannot be written to the cache.

    Notes
    -----
    UCI distributes seeds and page_blocks under the licence `CC BY 4.0
    <https://creativecommons.org/licenses/by/4.0/>`_: whoever passes on the data, or results made
    from it, has to name its authors. The data is not part of this package. The numbers of every
    file are checked against a recorded SHA-256, wherever the file comes from.

    References
    ----------
    .. [1] M. Charytanowicz, J. Niewczas, P. Kulczycki, P. Kowalski and S. Lukasik, Seeds, UCI
       Machine Learning Repository, 2010, doi:10.24432/C5H30K.
    .. [2] D. Malerba, Page Blocks Classification, UCI Machine Learning Repository, 1995,
       doi:10.24432/C5J590.

    Examples
    --------
    >>> wine = load("wine")
    >>> wine.features.shape, wine.classes
    ((178, 13), ('class_0', 'class_1', 'class_2'))
    """
    check_name("data set", name, BUILTIN)
    if data_dir is not None:
        data_dir = as_path("data_dir", data_dir)
    if name in FROM_UCI:
        table = SEEDS if name == "seeds" else PAGE_BLOCKS
        data = obtain(table, data_dir)
        labels = np.array(table.class_names)[data[:, -1].astype(int) - 1]
        if name == "pb300":
            rows = _rows_of_pb300()
            data, labels = data[rows], labels[rows]
            labels = np.where(labels == "text", "text", "other")
        return Dataset(name, data[:, :-1], labels, table.feature_names)
    import sklearn.datasets  # slow to import, and needed here only

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    return Dataset(name, bunch.data, bunch.target_names[bunch.target], bunch.feature_names)


def _rows_of_pb300() -> npt.NDArray[np.intp]:
    """Return the rows of page_blocks that are pb300; the stream is one that NumPy never changes."""
    drawn = np.random.PCG64(0).random_raw(PAGE_BLOCKS.rows)
    return np.sort(np.argsort(drawn, kind="stable")[:300])
