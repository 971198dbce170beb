"""The start of the command ``gdaopt``, which loads no module of the package by itself.

Loading them takes a second, in which an interrupt would end the command with the traceback of an
import. So this is a module beside the package: Python loads a package before what is in it.
"""

from __future__ import annotations

import os
import signal

__all__ = ["main"]

_INTERRUPTED = 130  # exit code, as shells have it: 128 and the number of the signal


def main() -> None:
    """Load the command line and run it; an interrupt before it runs ends the process at once.

    Not by an exception, which modules that are being loaded might take for a missing dependency.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # else a parent has it ignored
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    from gdaopt.cli import app

    signal.signal(signal.SIGINT, handler)
    app()
