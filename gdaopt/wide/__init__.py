"""Problems of many features: losses of distances, of which no array has K×K numbers.

Nobody but `gdaopt.solving`, `gdaopt.scaling` and readers of samples knows of this room.
"""

from gdaopt.wide.features import has_many_features
from gdaopt.wide.pricing import slopes_at_zero
from gdaopt.wide.solve import certify, iterate, solve

__all__ = ["certify", "has_many_features", "iterate", "slopes_at_zero", "solve"]
