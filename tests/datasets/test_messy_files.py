"""Files as people have them: each is read rightly, or refused with a remedy that works."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import re
import shlex
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

from gdaopt.datasets import Dataset, TableFormat, read_table
from gdaopt.datasets.tabular import TableSchema
from gdaopt.errors import InvalidInputError
from gdaopt.support.options import read_names

Values = Sequence[Sequence[float]]
AB = ("a", "b")
PLAIN: Values = [[1.5, 2], [-0.25, 7], [3, 4]]
LABELS = ["x", "y", "x"]


@dataclass(frozen=True)
class File:
    """A file, and what a person sees in it, or the words and the remedy of its refusal."""

    content: bytes | str | Callable[[], bytes]
    names: Sequence[str] = AB
    values: Values = field(default_factory=lambda: PLAIN)
    labels: Sequence[str] = field(default_factory=lambda: LABELS)
    note: str = ""
    refusal: str = ""  # words of it; the remedy that it names first is followed
    ending: str = "csv"
    options: dict[str, Any] = field(default_factory=dict)
    is_read_again: bool = True  # as new samples


def workbook(*sheets: Sequence[Sequence[object]]) -> Callable[[], bytes]:
    def content() -> bytes:
        file, book = io.BytesIO(), openpyxl.Workbook()
        book.remove(book.active)
        for number, rows in enumerate(sheets, 1):
            sheet = book.create_sheet(f"Tabelle{number}")
            for row in rows:
                sheet.append(row)
        book.save(file)
        return file.getvalue()

    return content


def archive(**files: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as members:
        for name, text in files.items():
            members.writestr(name.replace("__", "."), text)
    return file.getvalue()


def parquet(frame: pd.DataFrame) -> Callable[[], bytes]:
    def content() -> bytes:
        file = io.BytesIO()
        frame.to_parquet(file)
        return file.getvalue()

    return content


TEXT = "a,b,kind\n1.5,2,x\n-0.25,7,y\n3,4,x\n"
ROWS: list[list[Any]] = [["a", "b", "kind"], [1.5, 2, "x"], [-0.25, 7, "y"], [3, 4, "x"]]
GERMAN = (
    "Kunde-Nr;Umsatz (€);Rabatt;Größe;Note;Aktiv;Region;Klasse\n"
    "1007;1.825,51;5 %;1,80;2;ja;Süd;gut\n1013;925,00;12 %;1,65;3;nein;Nord;gut\n"
    "1020;12.000,50;7 %;1,72;1;ja;Süd;schlecht\n1031;8,75;0 %;1,91;5;ja;Nord;gut\n"
)
GERMAN_NAMES = ("Umsatz (€)", "Rabatt", "Größe", "Note", "Aktiv", "Region=Süd")
GERMAN_VALUES = [
    [1825.51, 5, 1.8, 2, 1, 1],
    [925, 12, 1.65, 3, 0, 0],
    [12000.5, 7, 1.72, 1, 1, 1],
    [8.75, 0, 1.91, 5, 1, 0],
]
GERMAN_LABELS = ["gut", "gut", "schlecht", "gut"]
CUSTOMERS = ["Kundennr.", "Größe", "Gewicht", "Alter", "Gruppe"]
SURVEY = """\
StartDate,ResponseId,Q1,Q2_1,Q2_2,Q3
Start,Response ID,Sure?,Age,Hours,Which?
"""
TOWNS = [f"{k},town {k % 25},{'xy'[k % 2]}\n" for k in range(50, 110)]

FILES = {
    "plain": File(TEXT),
    "German Excel, cp1252": File(
        GERMAN.encode("cp1252"), GERMAN_NAMES, GERMAN_VALUES, GERMAN_LABELS, "read as cp1252"
    ),
    "Excel's Unicode text": File(TEXT.replace(",", "\t").encode("utf-16"), ending="txt"),
    "spaces": File(
        "   a    b kind\n 1.5    2    x\n-.25    7    y\n   3    4    x\n", ending="dat"
    ),
    "gzip": File(gzip.compress(TEXT.encode()), ending="csv.gz"),
    "bzip2": File(bz2.compress(TEXT.encode()), ending="csv.bz2"),
    "zip": File(archive(t__csv=TEXT), ending="zip"),
    "zip of a Mac": File(archive(t__csv=TEXT, __MACOSX__t="junk"), ending="zip", refusal="--table"),
    "zip of two": File(
        archive(t__csv=TEXT, u__csv=TEXT), ending="zip", refusal="holds the files 't.csv', 'u.csv'"
    ),
    "workbook": File(workbook(ROWS), ending="xlsx"),
    "workbook of two": File(
        workbook(ROWS, ROWS), ending="xlsx", refusal="the sheets 'Tabelle1', 'Tabelle2'"
    ),
    "workbook with a title, numbers as texts and truth values": File(
        workbook(
            [
                ["Leaves"],
                [],
                ["a", "open", "kind"],
                ["1,5", True, 1],
                [2.5, False, 2],
                ["3", True, 1],
            ]
        ),
        ("a", "open"),
        [[1.5, 1], [2.5, 0], [3, 1]],
        ["1", "2", "1"],
        "Leaves",
        ending="xlsx",
    ),
    "workbook with dates": File(
        workbook(
            [["a", "b", "day", "kind"], *([*row[:2], date(2020, 1, 2), row[2]] for row in ROWS[1:])]
        ),
        refusal="column 'day' holds dates or times",
        ending="xlsx",
    ),
    "German workbook with numbers as texts beside true ones": File(
        workbook(
            [
                CUSTOMERS,
                *([10_001 + k, f"1,{60 + k}", f"{k},5 kg", 30 + k, "AB"[k // 4]] for k in range(8)),
            ]
        ),
        CUSTOMERS[1:-1],
        [[float(f"1.{60 + k}"), k + 0.5, 30 + k] for k in range(8)],
        ["A"] * 4 + ["B"] * 4,
        "--keep Kundennr. takes it",
        ending="xlsx",
    ),
    "Parquet": File(parquet(pd.DataFrame(ROWS[1:], columns=ROWS[0])), ending="parquet"),
    "Parquet with truth values and an absent one": File(
        parquet(pd.DataFrame({"a": [1.5, np.nan, 2.5], "b": [True, False, True], "kind": LABELS})),
        AB,
        [[1.5, 1], [2, 0], [2.5, 1]],
        refusal="column 'a' holds no value",
        ending="parquet",
    ),
    "pandas with index": File(
        ",a,b,kind\n0,1.5,2,x\n1,-.25,7,y\n2,3,4,x\n", note="numbers the rows"
    ),
    "R's write.csv": File(
        '"","a","b","kind"\n"1",1.5,2,"x"\n"2",-.25,7,"y"\n"3",3,4,"x"\n', note="numbers the rows"
    ),
    "R's write.table": File(
        '"a" "b" "kind"\n"1" 1.5 2 "x"\n"2" -.25 7 "y"\n"3" 3 4 "x"\n', note="numbers the rows"
    ),
    "R's NA": File(
        TEXT.replace("4,x", "NA,x"),
        values=[[1.5, 2], [-0.25, 7], [3, 4.5]],
        refusal="column 'b' holds no value",
    ),
    "no names": File(
        "5.1,3.5,x\n4.9,3.0,y\n4.7,3.2,x\n4.6,3.1,y\n",
        ("x1", "x2"),
        [[5.1, 3.5], [4.9, 3.0], [4.7, 3.2], [4.6, 3.1]],
        ["x", "y", "x", "y"],
        "the first line is a sample",
    ),
    "label first, no names": File(
        "1;14.23;1.7\n1;13.2;1.9\n2;12.3;2.3\n2;12.1;2.5\n1;14.1;1.6\n2;11.9;2.7\n",
        ("x2", "x3"),
        [[14.23, 1.7], [13.2, 1.9], [12.3, 2.3], [12.1, 2.5], [14.1, 1.6], [11.9, 2.7]],
        ["1", "1", "2", "2", "1", "2"],
        refusal="the last column, 'x3', holds 6 different values",
    ),
    "label first": File(
        "kind,a,b\n" + "".join(f"{'xy'[k % 2]},{k}.5,{k * k}.25\n" for k in range(12)),
        values=[[k + 0.5, k * k + 0.25] for k in range(12)],
        labels=["x", "y"] * 6,
        refusal="--label kind",
    ),
    "a title": File("Leaves of 2020,,\n" + TEXT, note="Leaves of 2020"),
    "comments": File("# leaves\n# by hand\n" + TEXT, note="2 lines above the names"),
    "bank statement": File(
        "Konto;DE12\nInhaber;Muster\n\nBetrag;Saldo;Art\n-12,50 €;1.000,00 €;Miete\n"
        "3.500,00 €;4.500,00 €;Lohn\n-40,00 €;4.460,00 €;Miete\n",
        ("Betrag", "Saldo"),
        [[-12.5, 1000], [3500, 4500], [-40, 4460]],
        ["Miete", "Lohn", "Miete"],
        "'€' at its numbers",
    ),
    "accounts": File(
        'a,b,kind\n"$1,234.50",(3),x\n"$2,000.00",4,y\n"$7.00",5-,x\n',
        values=[[1234.5, -3], [2000, 4], [7, -5]],
    ),
    "survey with questions below the names": File(
        "Q1,Q2,Q3\nHow old?,Do you smoke?,Group\n34,Yes,x\n27,No,y\n51,yes,x\n",
        ("Q1", "Q2"),
        [[34, 1], [27, 0], [51, 1]],
        note="which are taken for one",
    ),
    "survey tool with codes above questions and a time stamp": File(
        SURVEY
        + "".join(
            f"2024-03-0{k + 1} 10:00,R_{k}x,{('Yes', 'No')[k % 2]},{30 + k},{k}.5,{'ab'[k % 2]}\n"
            for k in range(6)
        ),
        ("Q1", "Q2_1", "Q2_2"),
        [[1 - k % 2, 30 + k, k + 0.5] for k in range(6)],
        ["a", "b"] * 3,
        "--keep ResponseId takes it",
        "column 'StartDate' holds dates or times",
    ),
    "sensors with units below the names": File(
        "t,v,state\ns,m/s,\n0.5,1.25,on\n1.5,1.5,off\n3.5,1.75,on\n",
        ("t", "v"),
        [[0.5, 1.25], [1.5, 1.5], [3.5, 1.75]],
        ["on", "off", "on"],
        "a second line of names or units",
    ),
    "units at numbers": File(
        "a,b,kind\n5 kg,20.5°C,x\n7 kg,21.0°C,y\n8 kg,19.5°C,x\n",
        values=[[5, 20.5], [7, 21], [8, 19.5]],
        note="'kg' at its numbers",
    ),
    "texts": File(
        "colour,b,kind\nred,2,x\nblue,7,y\ngreen,4,x\nred,5,y\n",
        ("colour=blue", "colour=green", "colour=red", "b"),
        [[0, 0, 1, 2], [1, 0, 0, 7], [0, 1, 0, 4], [0, 0, 1, 5]],
        ["x", "y", "x", "y"],
        "becomes the features colour=blue",
    ),
    "names of persons": File(
        "who,a,kind\nAnn,1.5,x\nBob,2.5,y\nCid,9,x\n",
        ("a",),
        [[1.5], [2.5], [9]],
        note="--keep who",
    ),
    "marks of a survey": File(
        "a,b,kind\n1.5,x,x\n2.5,,y\n9,x,x\n", ("a", "b=x"), [[1.5, 1], [2.5, 0], [9, 1]]
    ),
    "dates": File(
        TEXT.replace("kind", "Tag, Uhrzeit;kind")
        .replace(",", ";")
        .replace(";x", ";31.01.2020;x")
        .replace(";y", ";01.02.2020;y")
        .replace("Tag; Uhrzeit", "Tag"),
        refusal="column 'Tag' holds dates or times, such as '31.01.2020'",
    ),
    "many texts": File(
        "a,town,kind\n" + "".join(TOWNS),
        ("a",),
        [[k] for k in range(50, 110)],
        ["x", "y"] * 30,
        refusal="column 'town' holds 25 different texts",
        options={"drop": ["town"], "keep": ["a"]},
    ),
    "texts among numbers": File(
        "a,b,kind\n1.5,2,x\nn.d.,7,y\n2.5,4,x\n",
        values=[[1.5, 2], [2, 7], [2.5, 4]],
        refusal="column 'a' holds 'n.d.' in row 2",
    ),
    "a total": File(TEXT + "Total,13,\n", note="holds no label in row 4", is_read_again=False),
    "a row without label": File(TEXT + "5,13,?\n", note="a class needs another name"),
    "two columns of one name": File(
        "a,a,kind\n1.5,2,x\n-.25,7,y\n3,4,x\n", ("a", "a.1"), note="two columns have the name 'a'"
    ),
    "an empty column": File(
        "a,b,c,kind\n1.5,2,,x\n-.25,7,,y\n3,4,,x\n", note="column 'c' is empty"
    ),
    "copies": File(
        TEXT + "3,4,x\n",
        values=[*PLAIN, [3, 4]],
        labels=["x", "y", "x", "x"],
        note="repeat another",
    ),
    "UTF-16 without a mark": File(TEXT.encode("utf-16-le"), refusal="--encoding utf-16-le"),
    "code page of Russia": File(
        "a,b,kind\n1.5,2,да\n-.25,7,нет\n3,4,да\n".encode("cp1251"),
        labels=["да", "нет", "да"],
        options={"form": TableFormat(encoding="cp1251")},
    ),
}


def remedied(message: str) -> dict[str, Any]:
    """Return the options of the first remedy in a message."""
    remedy = message.partition("What helps: ")[2] or message
    remedy = re.split(r"; or |, or | or --| or, ", remedy)[0]
    words = shlex.split(remedy[remedy.index("--") :].replace(", which", " which"))
    found: dict[str, Any] = {}
    form: dict[str, Any] = {}
    for option, value in itertools.pairwise(words):
        match option:
            case "--drop" | "--keep":
                found[option[2:]] = read_names(value)
            case "--missing":
                form["missing"] = read_names(value)
            case "--impute" | "--label":
                found[option[2:]] = value.rstrip(",;")
            case "--skip-rows":
                form["skip_rows"] = int(value)
            case "--encoding" | "--decimal":
                form[option[2:]] = value
            case "--table":
                form["table"] = re.findall(r"'([^']+)'", message)[0]
    if "--table" in message:
        form["table"] = re.findall(r"'([^']+)'", message)[0]
    return {**found, "form": TableFormat(**form)}


@pytest.mark.parametrize("name", FILES)
def test_read_rightly_or_refused_with_a_remedy_that_works(name: str, tmp_path: Path) -> None:
    file = FILES[name]
    content = file.content() if callable(file.content) else file.content
    path = tmp_path / f"t.{file.ending}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    options = file.options
    if file.refusal:
        with pytest.raises(InvalidInputError, match=re.escape(file.refusal)) as caught:
            read_table(path)
        options = options or remedied(str(caught.value))
    data = read_table(path, **options)
    assert data.feature_names == tuple(file.names)
    assert data.labels.tolist() == list(file.labels)
    np.testing.assert_array_equal(data.features, np.array(file.values, dtype=float))
    assert file.note in " ".join(data.notes)
    assert data.name == "t"
    if file.is_read_again:
        _check_that_it_is_read_again(path, data)


def _check_that_it_is_read_again(path: Path, data: Dataset) -> None:
    assert data.schema is not None
    schema = TableSchema.from_record(data.schema.record())
    assert schema == data.schema
    new = schema.read(path)
    assert new.labels is not None
    is_labelled = new.labels != ""
    np.testing.assert_array_equal(new.features[is_labelled], data.features)
    assert new.labels[is_labelled].tolist() == data.labels.tolist()


@pytest.mark.parametrize("ending", ["csv.gz", "zip", "xlsx"])
def test_what_unpacks_to_too_much_is_refused(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it is unpacked: a small file may hold more than the memory."""
    path, text = tmp_path / f"t.{ending}", "a,b\n" + "1,x\n2,y\n" * 2000
    if ending == "csv.gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif ending == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.csv", text)
    else:
        path.write_bytes(workbook([["a", "b"], [1, "x"], [2, "y"]])())
    assert len(read_table(path).labels) in (2, 4000)
    monkeypatch.setattr("gdaopt.support.files._ALWAYS", 1000)
    monkeypatch.setattr("gdaopt.support.files._TIMES", 1)
    with pytest.raises(InvalidInputError, match=r"unpacks to|more than 1000"):
        read_table(path)
