"""The data sets known by name: three from scikit-learn, three found or downloaded from UCI."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gdaopt.datasets.dataset import Dataset
from gdaopt.errors import DownloadError, InvalidInputError
from gdaopt.support.files import remove_abandoned, unpack, write_text
from gdaopt.support.text import reason
from gdaopt.support.validation import FloatArray, as_path, check_name

_UCI = "https://archive.ics.uci.edu"
_UCI_FILES = f"{_UCI}/ml/machine-learning-databases"


@dataclass(frozen=True, kw_only=True)
class UciTable:
    """A table of numbers whose last column is the number of the class, counted from 1."""

    name: str  # that `gdaopt.datasets.load` knows
    file: str  # the name of the text file, at UCI and in the cache
    page: str  # for people
    urls: tuple[str, ...]  # the best first: as a zip archive, packed (``.Z``) or plain
    feature_names: tuple[str, ...]  # in the order of the file, from UCI's description
    class_names: tuple[str, ...]
    rows: int
    sha256: str  # the `digest` of the numbers, not of the bytes: copies differ in white space

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names that the file may have in a directory: of the text, or of the download."""
        return tuple(dict.fromkeys([self.file, *(url.rpartition("/")[2] for url in self.urls)]))


SEEDS = UciTable(
    name="seeds",
    file="seeds_dataset.txt",
    page=f"{_UCI}/dataset/236/seeds",
    urls=(
        f"{_UCI}/static/public/236/seeds.zip",
        f"{_UCI_FILES}/00236/seeds_dataset.txt",
    ),
    feature_names=(
        "area",
        "perimeter",
        "compactness",
        "length of kernel",
        "width of kernel",
        "asymmetry coefficient",
        "length of kernel groove",
    ),
    class_names=("Kama", "Rosa", "Canadian"),
    rows=210,
    sha256="1df01b571e636d41f6de3e93e3e645f05a9a31c88b50104cc69c2a09b7f3f2ee",
)
"""210 kernels of wheat."""

PAGE_BLOCKS = UciTable(
    name="page_blocks",
    file="page-blocks.data",
    page=f"{_UCI}/dataset/78/page+blocks+classification",
    urls=(
        f"{_UCI}/static/public/78/page+blocks+classification.zip",
        f"{_UCI_FILES}/page-blocks/page-blocks.data.Z",
    ),
    feature_names=(
        "height",
        "length",
        "area",
        "eccen",
        "p_black",
        "p_and",
        "mean_tr",
        "blackpix",
        "blackand",
        "wb_trans",
    ),
    # UCI's page and the table of frequencies in page-blocks.names agree on this order. The text of
    # page-blocks.names has graphic and picture in the other order.
    class_names=("text", "horizontal line", "graphic", "vertical line", "picture"),
    rows=5473,
    sha256="7961e81536348540dcf5a1d1b755390e731444da86a3dd6ee2c2f88951485b33",
)
"""5473 blocks of the pages of 54 documents."""


def digest(data: FloatArray) -> str:
    """Return the SHA-256 of the numbers of an array, taken row by row as little-endian float64."""
    return hashlib.sha256(np.ascontiguousarray(data, dtype="<f8").tobytes()).hexdigest()


def read_text(content: bytes, member: str, where: str) -> str:
    """Return the text in a file: plain, packed, or `member` of a zip archive."""

    def choose(names: list[str]) -> str:
        members = {name.rpartition("/")[2]: name for name in names}
        name = members.get(member, members.get(f"{member}.Z"))
        if name is None:
            raise ValueError(f"it holds no {member}, but {', '.join(members) or 'nothing'}")
        return name

    try:
        return unpack(content, MOST_BYTES, choose).decode("utf-8-sig")
    except ValueError as error:
        raise InvalidInputError(
            f"{where} is not a text, nor one in a sound .zip or .Z file: {reason(error)}; get it "
            "again"
        ) from error


def read_table(table: UciTable, text: str, where: str) -> FloatArray:
    """Return the numbers of a text, shape (N, K + 1); refuse any others than the table's."""
    columns = len(table.feature_names) + 1
    try:
        data = np.array([float(word) for word in text.split()])
        fault = f"it holds {data.size} numbers with the SHA-256 {digest(data)[:16]}…"
    except ValueError as error:
        data, fault = np.empty(0), reason(error)
    if digest(data) != table.sha256:
        raise InvalidInputError(
            f"{where} is not UCI's {table.name}, which has {table.rows * columns} numbers with the "
            f"SHA-256 {table.sha256[:16]}…: {fault}; get it again from {table.page}"
        )
    return data.reshape(-1, columns)


DATA_VARIABLE = "GDAOPT_DATA"  # names a directory of the user with data files
CACHE_VARIABLE = "GDAOPT_CACHE"  # names the directory for downloaded files
TIMEOUT = 20.0  # seconds that a server may be silent
MOST_BYTES = 2**24  # of a file, packed or not: some thirty times the largest text

# Held while a table is used for the first time: threads that need the same table download it once.
_first_use = threading.Lock()
_unsaved: dict[Path, FloatArray] = {}  # tables that could not be saved, by the path in the cache


def obtain(table: UciTable, data_dir: str | os.PathLike[str] | None = None) -> FloatArray:
    """Return the numbers of a table, shape (N, K + 1), from the first place that has its file.

    The places are `data_dir` alone if it is given, else ``GDAOPT_DATA``, the cache, and UCI.
    """
    if data_dir is not None:
        data = _from_directory(table, Path(data_dir))
        if data is None:
            raise InvalidInputError(
                f"data_dir {os.fspath(data_dir)!r} has none of {', '.join(table.file_names)}; "
                f"put one of them there (from {table.page}), or leave data_dir out to download it"
            )
        return data
    named = os.environ.get(DATA_VARIABLE)
    data = _from_directory(table, as_path(DATA_VARIABLE, named)) if named else None
    if data is not None:
        return data
    path = cache_directory() / table.file
    with _first_use:
        if path in _unsaved:
            return _unsaved[path]
        missing = f"is not in {path.parent}"
        try:
            data = _from_directory(table, path.parent)
        except InvalidInputError as error:
            missing = f"is damaged in the cache ({error})"
        if named:
            missing = f"is not in {named} and {missing}"
        return _from_uci(table, path, missing) if data is None else data


def cache_directory() -> Path:
    """Return the directory for downloaded files, which need not exist yet.

    It is ``GDAOPT_CACHE`` when this variable is set, else the directory ``gdaopt`` among the caches
    of the platform: in ``XDG_CACHE_HOME`` or ``~/.cache``, on Windows in ``LOCALAPPDATA``, on macOS
    in ``~/Library/Caches``.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return as_path(CACHE_VARIABLE, chosen)
    variable = {"win32": "LOCALAPPDATA", "darwin": ""}.get(sys.platform, "XDG_CACHE_HOME")
    base = os.environ.get(variable, "")
    if os.path.isabs(base):  # the XDG specification says to ignore relative paths
        return Path(base, "gdaopt")
    below = {"win32": "AppData/Local", "darwin": "Library/Caches"}.get(sys.platform, ".cache")
    try:
        return Path.home() / below / "gdaopt"
    except RuntimeError as error:
        raise InvalidInputError(
            f"no place for downloaded files: {error}; set {CACHE_VARIABLE} to a directory for "
            f"them, or {DATA_VARIABLE} to a directory that has them"
        ) from error


def _from_directory(table: UciTable, directory: Path) -> FloatArray | None:
    for path in (directory / name for name in table.file_names):
        try:
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise InvalidInputError(
                f"cannot read {path}: {error.strerror}; get it again"
            ) from error
        return read_table(table, read_text(content, table.file, str(path)), str(path))
    return None


def _from_uci(table: UciTable, path: Path, missing: str) -> FloatArray:
    failures = []
    for url in table.urls:
        try:
            text = read_text(_download(url), table.file, url)
            data = read_table(table, text, url)
        except (DownloadError, InvalidInputError) as error:
            failures.append(str(error))
            continue
        _keep(text, data, path)
        return data
    raise DownloadError(
        f"data set {table.name!r} {missing}, and could not be downloaded ({'; '.join(failures)}). "
        f"By hand: get {' or '.join(table.file_names)} from {table.page}, put it unchanged into a "
        f"directory DIR, and pass data_dir=DIR or --data-dir DIR, or set {DATA_VARIABLE}=DIR"
    )


def _download(url: str) -> bytes:
    # Slow to import, and needed here only.
    from http.client import HTTPException
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(url, headers={"User-Agent": "gdaopt"}), timeout=TIMEOUT) as answer:
            content: bytes = answer.read(MOST_BYTES + 1)
            if len(content) <= MOST_BYTES:
                answer.read()  # nothing, or an error where less came than was announced
    except (OSError, HTTPException) as error:
        raise DownloadError(f"{url}: {error}") from error
    return content


def _keep(text: str, data: FloatArray, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path.parent)
        write_text(path, text)
    except OSError as error:
        _unsaved[path] = data
        warnings.warn(
            f"cannot write {path} ({error.strerror}); the next session will download the file "
            f"again, unless {CACHE_VARIABLE} names a directory that can be written to",
            stacklevel=5,  # the caller of load
        )


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
        (``gdaopt.datasets.builtin.cache_directory``), and is then downloaded from UCI. The data
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
