"""The package highspy, loaded so that HiGHS writes no banner."""

from __future__ import annotations

from functools import cache
from types import ModuleType

__all__ = ["load_highspy"]


@cache
def load_highspy() -> ModuleType:
    """Return highspy; models that are made after this call write no banner.

    Since version 1.16 the first model of a process, whoever makes it, writes two lines on the
    standard output of C. It does so while it is made, before it can be given an option: its
    constructor enables callbacks, which writes the banner to where the model's log goes. Here the
    log of the first model is off by then. The standard output itself stays as it is for all other
    threads, and so do the logs of all other models.

    Returns
    -------
    module
        The package ``highspy``.

    Examples
    --------
    >>> load_highspy().Highs().getNumCol()
    0
    """
    import highspy  # on demand: importing gdaopt loads no solver

    class Quiet(highspy.Highs):  # noqa: TID251 (this is where it may be used)
        def enableCallbacks(self) -> None:  # noqa: N802 (a name of HiGHS)
            self.setOptionValue("log_to_console", False)
            super().enableCallbacks()  # type: ignore[no-untyped-call]  # it has few types

    Quiet()  # type: ignore[no-untyped-call]  # as above
    return highspy
