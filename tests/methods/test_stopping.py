"""When runs end: the bounds that they have found so far."""

import math

from gdaopt.certificate import Certificate
from gdaopt.methods.stopping import LowerBound


def test_the_best_bound_is_kept_and_is_below_all_values() -> None:
    """A metric that is a member but for round-off may have a value below a bound."""
    bound = LowerBound()
    for value, lower_bound, expected in (
        (3.0, -math.inf, -math.inf),
        (3.0, 1.0, 1.0),
        (2.5, 0.5, 1.0),
        (2.0, 1.5, 1.5),
        (1.5 - 1e-15, 1.0, 1.5 - 1e-15),
        (1.6, 1.5, 1.5),
    ):
        certificate = Certificate(value, lower_bound, "linear")
        assert bound.add(certificate) == expected
        assert bound.gap(value) == value - expected >= 0
