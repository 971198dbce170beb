"""The directory of a study: keys, its record, and what it refuses; file names of labels."""

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.studies import study_directory
from gdaopt.studies.learned_study import file_stems
from gdaopt.studies.runner import Task, run_tasks
from gdaopt.studies.study_directory import StudyDirectory, task_key
from gdaopt.studies.task_workers import TaskWorkers
from tests.helpers import PROPERTY
from tests.studies import task_cases
from tests.studies.cases import OPTIONS, content, refused, squares, study

# --- Keys ----------------------------------------------------------------------------------------


def test_distinct_parts_have_distinct_keys() -> None:
    parts: list[tuple[object, ...]] = [
        *[("a", "b"), ("A", "b"), ("a", "b", None), ("a", "b", ""), ("a", "b", "c")],
        *[("a-b",), ("a b",), ("a_b",), ("a/b",), ("a\\b",), ("a\nb",), ("ä",), ("ö",), ("",)],
        *[("..",), ("con",), ("🙂",), (1,), ("1",), (1.0,), (True,), ("x" * 300,), ("x" * 301,)],
    ]
    keys = [task_key(*part) for part in parts]
    assert len({key.casefold() for key in keys}) == len(parts)
    assert max(map(len, keys)) < 100


def test_keys_are_file_names_and_stay_the_same(tmp_path: Path) -> None:
    """Directories that were begun by an earlier process depend on it."""
    directory = study(tmp_path)
    for parts in (("../up", "x"), ("con",), (".",), ("a.json",), ("",)):
        stem = directory.stem(task_key(*parts))
        assert (stem.parent, stem.suffix) == (directory.tasks, "")
    assert task_key("setosa", "joint", None) == "setosa-joint-none-c91fed65a5"


@pytest.mark.parametrize("key", ["", "A", "a.b", "../a", "a b", "a/b"])
def test_unsafe_keys_are_refused_before_any_work(key: str, tmp_path: Path) -> None:
    directory = study(tmp_path)
    with refused("is no safe file name"):
        run_tasks(directory, {**squares(1), key: Task(task_cases.square, (2,))}, TaskWorkers())
    assert list(directory.tasks.iterdir()) == []


# --- The record ----------------------------------------------------------------------------------


def test_the_record(tmp_path: Path) -> None:
    directory = study(tmp_path / "new" / "deep")
    record = json.loads((directory.path / "study.json").read_text())
    said = {"study": "squares", "gdaopt": gda.__version__, **OPTIONS}
    assert record == {"format": 2, "options": said}
    assert directory.options == study(directory.path).options == record["options"]


def test_other_options_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study(tmp_path)
    before = content(tmp_path)
    with refused('tolerance is 1e-06 there and 0.001 now; new is absent there and "x" now; choose'):
        study(tmp_path, tolerance=1e-3, new="x")
    with refused("limit is null there and absent now"):
        StudyDirectory(tmp_path, "squares", {k: v for k, v in OPTIONS.items() if k != "limit"})
    monkeypatch.setattr(study_directory, "version", lambda _: "99.0")
    with refused(r'gdaopt is ".*" there and "99.0" now'):
        study(tmp_path)
    assert content(tmp_path) == before


def test_values_that_are_equal_are_the_same(tmp_path: Path) -> None:
    study(tmp_path, bound=4, methods=("joint",))
    study(tmp_path, bound=4.0, methods=["joint"])


@pytest.mark.parametrize(
    ("file", "text", "below", "message"),
    [
        ("mine.txt", "mine", "", r"already holds files, but no study\.json"),
        *(
            ("mine", "mine", f"mine/{x}", "cannot write to .*choose another --out")
            for x in (".", "out")
        ),
        *(
            ("study.json", text, "", "study.json is damaged")
            for text in (
                *("{", "[]", '{"format": 1}', '{"format": "x", "options": {}}'),
                *("[" * 100_000, '{"format": "\\ud800"}', "\0"),
            )
        ),
        *(
            (
                "study.json",
                f'{{"format": {n}, "options": {{}}}}',
                "",
                f"written by {age} gdaopt; use",
            )
            for n, age in ((1, "an earlier"), (3, "a newer"))
        ),
    ],
)
def test_other_files_are_refused(
    file: str, text: str, below: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(text)
    with refused(message):
        study(tmp_path / below)
    assert content(tmp_path) == {file: text.encode()}


# --- Rows ----------------------------------------------------------------------------------------

ROW = {"status": "finished", "objective": 0.1 + 0.2, "gap": 1e-300, "label": "ä\u2028"}


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "\0" * 50, "3", "[]", "{}", '{"row": {}, "files": []}', '{"row": 3}'),
        *("[" * 100_000, '{"row": 3, "files": [], "sha256": ""}', None),
    ],
)
def test_damaged_rows_are_not_there(text: str | None, tmp_path: Path) -> None:
    directory = study(tmp_path)
    directory.write_row("a", ROW)
    assert directory.row("a") == ROW
    file = directory.tasks / "a.json"
    changed = file.read_text().replace("0.30000000000000004", '"0.3"')
    file.write_text(changed if text is None else text)
    assert directory.row("a") is None


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_text("y")])
def test_rows_without_their_file_are_not_there(
    damage: Callable[[Path], object], tmp_path: Path
) -> None:
    directory = study(tmp_path)
    file = directory.tasks / "a.npz"
    file.write_text("x")
    directory.write_row("a", ROW, [file])
    assert directory.row("a") == ROW
    damage(file)
    assert directory.row("a") is None


def test_interrupted_rows_are_there_but_not_finished(tmp_path: Path) -> None:
    directory = study(tmp_path)
    directory.write_row("a", {**ROW, "status": "interrupted"})
    assert directory.row("a") is None
    assert len(list(directory.tasks.iterdir())) == 1


def test_a_study_is_replaced_by_one_of_its_kind(tmp_path: Path) -> None:
    directory = study(tmp_path)
    directory.write_row("a", ROW)
    (directory.tasks / "mine.json").write_text("{}")
    with refused('study is "squares" there and "cubes" now'):
        StudyDirectory(tmp_path, "cubes", OPTIONS, replace=True)
    assert directory.row("a") == ROW
    assert StudyDirectory(tmp_path, "squares", {}, replace=True).row("a") is None
    assert content(directory.tasks) == {"mine.json": b"{}"}


# --- File names made from labels -----------------------------------------------------------------


AWKWARD = [
    *("con", "CON", "Con.txt", "NUL", "aux.txt", "prn", "com1", "LPT9.log", "com¹"),
    *("a.", "a..", "a ", " a", "a", "A", "a. ", ".", "..", "", ".hidden", "a/b", "a\\b", "a:b"),
    *('a"b', "a|b", "a?b", "a*b", "a<b>", "a\nb", "a\0b", "../..", "x" * 300, "x" * 301),
    *("ä", "a\u0308", "ß", "ss", "SS", "ﬁ", "fi", "İ", "i", "\u202e", "🙂", "-trace", "a-trace"),
]
DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"} | {
    f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³"
}


def is_valid_on_windows(name: str) -> bool:
    """Say whether a whole file name is valid, by Microsoft's "Naming Files, Paths, and Namespaces".

    Also names that only old versions of Windows refuse are invalid.
    """
    device = name.partition(".")[0].rstrip(" ").casefold() in DEVICES
    characters = re.fullmatch(r'[^<>:"/\\|?*\x00-\x1f]+', name)
    return bool(characters) and name[-1] not in ". " and not device


def check(labels: list[str]) -> None:
    stems = file_stems(labels)
    assert list(stems) == labels
    for stem in stems.values():
        for name in (stem, f"{stem}.npz", f"{stem}-trace.csv"):
            assert is_valid_on_windows(name)
        assert not stem.startswith(".")
        assert len(f"{stem}-trace.csv".encode()) < 225  # temporary names are longer
    for form in ("NFC", "NFD", "NFKC"):
        normal = [unicodedata.normalize(form, stem) for stem in stems.values()]
        assert len({name.casefold() for name in normal}) == len(stems)
        assert len({name.upper() for name in normal}) == len(stems)


def test_awkward_labels() -> None:
    check(AWKWARD)
    check(AWKWARD[::-1])


@PROPERTY
@given(st.lists(st.text(max_size=8) | st.sampled_from(AWKWARD), unique=True, max_size=12))
def test_any_labels(labels: list[str]) -> None:
    check(labels)


@pytest.mark.parametrize("label", ["setosa", "class_1", "1", "-1", "0.5", "ä.1", "c2-x"])
def test_names_stay_as_they_are(label: str) -> None:
    assert file_stems([label]) == {label: label}
