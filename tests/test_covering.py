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


def test_cases_of_items(pytester: pytest.Pytester) -> None:
    """The other cases are slow or thorough, if the test is marked; and every third one of each."""
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

        @pytest.mark.covering(1, 2)
        @pytest.mark.parametrize("a", [0, 1])
        @pytest.mark.parametrize("b", [0, 1])
        @pytest.mark.parametrize("c", [0, 1])
        def test_cube(a, b, c): pass

        @pytest.mark.parametrize("a", range(5))
        def test_not_marked(a): pass
        """
    )
    mark_covering_parts(items)
    assert unmarked(items) == {
        *("test_covered[b-0]", "test_covered[c-1]", "test_covered[d-0]", "test_no_parameters"),
        *("test_cube[0-0-0]", "test_cube[1-1-1]"),
        *(f"test_not_marked[{n}]" for n in range(5)),
    }
    cube = [item for item in items if item.name.startswith("test_cube")]
    run_by_ci = [item for item in cube if item.get_closest_marker("thorough") is None]
    assert len(run_by_ci) < len(cube) == 8
    for axes in combinations("abc", 2):
        pairs = {
            tuple(item.callspec.params[axis] for axis in axes)
            for item in run_by_ci
            if isinstance(item, pytest.Function)
        }
        assert len(pairs) == 4
    names = [item.name for item in every(items, 3) if "not_marked" in item.name]
    assert names == ["test_not_marked[0]", "test_not_marked[3]"]
    assert every(items, 1) == items


def test_chosen_values() -> None:
    cases = chosen("abc", default="b", slow="ab")
    assert [case.values for case in cases] == [("a",), ("b",), ("c",)]
    marks = [[mark.name for mark in case.marks] for case in cases]
    assert marks == [["slow"], [], ["thorough"]]
