"""The numbers that the paper prints."""

from __future__ import annotations

import pytest

from table1.published import DATASETS, PUBLISHED, published
from table1.rows import ROWS
from table1.tables import N_PUBLISHED


class TestPublished:
    def test_all_46(self) -> None:
        numbers = [
            published(dataset, row, classifier)
            for row in PUBLISHED
            for dataset in DATASETS
            for classifier in ("knn", "gb")
        ]
        assert len(numbers) == 48
        assert N_PUBLISHED == sum(number is not None for number in numbers) == 46
        assert all(number is None or 3.5 < number < 10.5 for number in numbers)
        assert sum(number or 0 for number in numbers) == pytest.approx(249.17)
        assert set(PUBLISHED) <= set(ROWS)

    @pytest.mark.parametrize(
        ("dataset", "row", "classifier", "number"),
        [
            ("iris", "gmml", "gb", 10.40),
            ("wine", "mao2016", "gb", 5.18),
            ("seeds", "fgl", "knn", 7.77),
            ("pb300", "yang2018", "knn", 5.33),
            ("pb300", "zhu2003", "gb", None),
            ("pb300", "alternating", "gb", 4.23),
            ("iris", "nca", "knn", None),
            ("breast_cancer", "gmml", "knn", None),
        ],
    )
    def test_some(self, dataset: str, row: str, classifier: str, number: float | None) -> None:
        assert published(dataset, row, classifier) == number
