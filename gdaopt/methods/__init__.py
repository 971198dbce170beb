"""Methods: iterations that yield states, and one `solve` over all of them."""

from gdaopt.methods.alternating import Alternating
from gdaopt.methods.base import Method
from gdaopt.methods.solve import METHODS, make_method, solve
from gdaopt.methods.state import State

__all__ = ["METHODS", "Alternating", "Method", "State", "make_method", "solve"]
