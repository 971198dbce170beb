"""The rules of `gdaopt.methods.stopping`, for modules that still look for them here."""

from gdaopt.methods.stopping import LowerBound, Patience, StallRule

__all__ = ["LowerBound", "Patience", "StallRule"]
