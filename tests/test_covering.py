"""Which cases of a test run by default, and which ones with the slow tests."""

from itertools import combinations, product

import pytest

from tests.covering import chosen, covering_part, every, mark_covering_parts

pytest_plugins = ["pytester"]


def unmarked(items: list[pytest.Item]) -> set[str]:
    """Return the names of the items that run by default."""
    marks = ("slow", "thorough")
    return {item.name for item in items if not any(map(item.get_closest_marker, marks))}


@pytest.mark.parametrize("strength", [1, 2, 3])
def test_all_combinations_occur_in_few_cases(strength: int) -> None:
    sizes = (5, 4, 3, 2)
    cases = list(product(*map(range, sizes)))
    chosen = [cases[place] for place in covering_part(cases, strength)]
    for factors in combinations(range(len(sizes)), strength):
        found = {tuple(case[factor] for factor in factors) for case in chosen}
        assert found == set(product(*(range(sizes[factor]) for factor in factors)))
    assert len(set(chosen)) == len(chosen) <= {1: 5, 2: 25, 3: 80}[strength]
    missing = [(a, b) for a, b in product(range(3), range(3)) if a != b]  # is not asked for
    assert sorted(covering_part(missing, 2)) == list(range(6))
    assert covering_part([(0,), (1,)], 2) == [0, 1]


def test_the_other_cases_are_slow(pytester: pytest.Pytester) -> None:
    """Of those that are not slow anyway, of a test that is marked."""
    items = pytester.getitems(
        """
        import pytest

        VALUES = [0, 1, pytest.param(2, marks=pytest.mark.slow)]

        @pytest.mark.covering(1)
        class TestMarked:
            @pytest.mark.parametrize("a", VALUES)
            @pytest.mark.parametrize("b", "bcd")
            def test_covered(self, a, b): pass

            def test_no_parameters(self): pass

        @pytest.mark.parametrize("a", VALUES)
        def test_not_marked(a): pass
        """
    )
    mark_covering_parts(items)
    assert unmarked(items) == {
        *("test_covered[b-0]", "test_covered[c-1]", "test_covered[d-0]", "test_no_parameters"),
        *("test_not_marked[0]", "test_not_marked[1]"),
    }


def test_cases_that_the_slow_tests_do_not_need_are_thorough(pytester: pytest.Pytester) -> None:
    items = pytester.getitems(
        """
        import pytest

        @pytest.mark.covering(1, 2)
        @pytest.mark.parametrize("a", [0, 1])
        @pytest.mark.parametrize("b", [0, 1])
        @pytest.mark.parametrize("c", [0, 1])
        def test_cube(a, b, c): pass
        """
    )
    mark_covering_parts(items)
    assert unmarked(items) == {"test_cube[0-0-0]", "test_cube[1-1-1]"}
    run_by_ci = [item for item in items if item.get_closest_marker("thorough") is None]
    assert len(run_by_ci) < len(items) == 8
    for axes in combinations("abc", 2):
        pairs = {
            tuple(item.callspec.params[axis] for axis in axes)
            for item in run_by_ci
            if isinstance(item, pytest.Function)
        }
        assert len(pairs) == 4


def test_every_third_case_of_each_test(pytester: pytest.Pytester) -> None:
    items = pytester.getitems(
        """
        import pytest

        class TestOne:
            def test_first(self): pass
            def test_second(self): pass

        @pytest.mark.parametrize("a", range(5))
        def test_many(a): pass
        """
    )
    names = [item.name for item in every(items, 3)]
    assert names == ["test_first", "test_second", "test_many[0]", "test_many[3]"]
    assert every(items, 1) == items


def test_chosen_values() -> None:
    cases = chosen("abc", default="b", slow="ab")
    assert [case.values for case in cases] == [("a",), ("b",), ("c",)]
    marks = [[mark.name for mark in case.marks] for case in cases]
    assert marks == [["slow"], [], ["thorough"]]
