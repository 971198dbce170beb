"""The directory of a study: keys, its record, and what it refuses."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gdaopt as gda
from gdaopt.studies import study_directory
from gdaopt.studies.run_directory import file_stems
from gdaopt.studies.runner import Task, run_tasks
from gdaopt.studies.study_directory import StudyDirectory, task_key
from gdaopt.studies.task_workers import TaskWorkers
from tests.helpers import PROPERTY
from tests.studies import task_cases
from tests.studies.cases import OPTIONS, content, squares, study


class TestKeys:
    def test_distinct_parts_have_distinct_keys(self) -> None:
        single: list[tuple[object, ...]] = [
            (part,)
            for part in (
                *("a-b", "a b", "a_b", "a/b", "a\\b", "a\nb", "ä", "ö", "", "..", "con", "🙂"),
                *(1, "1", 1.0, True, "x" * 300, "x" * 301),
            )
        ]
        parts = [("a", "b"), ("A", "b"), ("a", "b", None), ("a", "b", ""), ("a", "b", "c"), *single]
        keys = [task_key(*part) for part in parts]
        assert len({key.casefold() for key in keys}) == len(parts)
        assert max(map(len, keys)) < 100

    def test_they_are_file_names(self, tmp_path: Path) -> None:
        directory = study(tmp_path)
        for parts in (("../up", "x"), ("con",), (".",), ("a.json",), ("",)):
            stem = directory.stem(task_key(*parts))
            assert stem.parent == directory.tasks
            assert stem.suffix == ""

    def test_they_stay_the_same(self) -> None:
        """Directories that were begun by an earlier process depend on it."""
        assert task_key("setosa", "joint", None) == "setosa-joint-none-c91fed65a5"

    @pytest.mark.parametrize("key", ["", "A", "a.b", "../a", "a b", "a/b"])
    def test_unsafe_ones_are_refused_before_any_work(self, key: str, tmp_path: Path) -> None:
        directory = study(tmp_path)
        tasks = {**squares(1), key: Task(task_cases.square, (2,))}
        with pytest.raises(gda.errors.InvalidInputError, match="is no safe file name"):
            run_tasks(directory, tasks, TaskWorkers())
        assert list(directory.tasks.iterdir()) == []


class TestDirectory:
    def test_the_record(self, tmp_path: Path) -> None:
        directory = study(tmp_path / "new" / "deep")
        record = json.loads((directory.path / "study.json").read_text())
        assert record == {"format": 1, "options": {"gdaopt": gda.__version__, **OPTIONS}}
        assert directory.options == record["options"]
        assert study(directory.path).options == record["options"]

    def test_other_options_are_refused_by_name(self, tmp_path: Path) -> None:
        study(tmp_path)
        before = content(tmp_path)
        with pytest.raises(gda.errors.InvalidInputError) as caught:
            study(tmp_path, tolerance=1e-3, methods=["joint"], new="x")
        assert str(caught.value) == (
            f"{tmp_path} holds a study of other options: tolerance is 1e-06 there and 0.001 now; "
            'methods is ["joint", "certified"] there and ["joint"] now; new is absent there and '
            '"x" now; choose another --out, or the options there to go on with it'
        )
        with pytest.raises(
            gda.errors.InvalidInputError, match="limit is null there and absent now"
        ):
            StudyDirectory(tmp_path, {k: v for k, v in OPTIONS.items() if k != "limit"})
        assert content(tmp_path) == before

    def test_another_version_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        study(tmp_path)
        monkeypatch.setattr(study_directory, "version", lambda _: "99.0")
        with pytest.raises(
            gda.errors.InvalidInputError, match=r'gdaopt is ".*" there and "99.0" now'
        ):
            study(tmp_path)

    def test_values_that_are_equal_are_the_same(self, tmp_path: Path) -> None:
        study(tmp_path, bound=4, methods=("joint",))
        study(tmp_path, bound=4.0, methods=["joint"])

    def test_one_of_others_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("mine")
        with pytest.raises(gda.errors.InvalidInputError, match=r"holds files but no study\.json"):
            study(tmp_path)
        assert content(tmp_path) == {"mine.txt": b"mine"}

    def test_one_that_was_killed_at_its_first_write(self, tmp_path: Path) -> None:
        (tmp_path / ".study.json.999999999-0a1b2c3d.tmp").write_text("{")
        directory = study(tmp_path)
        directory.clean()
        assert content(tmp_path).keys() == {"study.json"}

    @pytest.mark.parametrize("below", [".", "out", "deep/er"])
    def test_one_that_cannot_be_written_to(self, below: str, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        with pytest.raises(
            gda.errors.InvalidInputError, match=r"cannot write to .*choose another --out"
        ):
            study(tmp_path / "file" / below)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", "study.json is damaged"),
            ("[]", "study.json is damaged"),
            ('{"format": 1}', "study.json is damaged"),
            ('{"format": "x", "options": {}}', "study.json is damaged"),
            ('{"format": 2, "options": {}}', "was written by a newer gdaopt; upgrade to go on"),
        ],
    )
    def test_damaged_records(self, text: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "study.json").write_text(text)
        with pytest.raises(gda.errors.InvalidInputError, match=message):
            study(tmp_path)

    @pytest.mark.parametrize(
        "text",
        [
            *("", "{", "\0" * 50, "3", "[]", "{}", '{"row": {}, "files": []}', '{"row": 3}'),
            *("[" * 100_000, '{"row": 3, "files": [], "sha256": ""}'),
        ],
    )
    def test_damaged_rows_are_not_there(self, text: str, tmp_path: Path) -> None:
        directory = study(tmp_path)
        directory.write_row("a", {"status": "finished"})
        assert directory.row("a") == {"status": "finished"}
        (directory.tasks / "a.json").write_text(text)
        assert directory.row("a") is None

    def test_rows_that_were_changed_are_not_there(self, tmp_path: Path) -> None:
        directory = study(tmp_path)
        row = {"status": "finished", "objective": 0.1 + 0.2, "gap": 1e-300, "label": "ä\u2028"}
        directory.write_row("a", row)
        assert directory.row("a") == row
        text = (directory.tasks / "a.json").read_text()
        (directory.tasks / "a.json").write_text(text.replace("0.30000000000000004", '"0.3"'))
        assert directory.row("a") is None

    def test_rows_without_their_file_are_not_there(self, tmp_path: Path) -> None:
        directory = study(tmp_path)
        (directory.tasks / "a.npz").write_text("x")
        directory.write_row("a", {"status": "finished"})
        (directory.tasks / "a.npz").unlink()
        assert directory.row("a") is None


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
    return (
        bool(re.fullmatch(r'[^<>:"/\\|?*\x00-\x1f]+', name)) and name[-1] not in ". " and not device
    )


def check(labels: list[str]) -> None:
    stems = file_stems(labels)
    assert list(stems) == labels
    for stem in stems.values():
        assert is_valid_on_windows(f"{stem}.npz")
        assert is_valid_on_windows(f"{stem}-trace.csv")
        assert is_valid_on_windows(stem)
        assert not stem.startswith(".")
        assert len(f"{stem}-trace.csv".encode()) < 225  # temporary names are longer
    for form in ("NFC", "NFD", "NFKC"):
        assert len({unicodedata.normalize(form, s).casefold() for s in stems.values()}) == len(
            stems
        )
        assert len({unicodedata.normalize(form, s).upper() for s in stems.values()}) == len(stems)


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
