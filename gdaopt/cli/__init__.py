"""The command line: its start here, its commands in the modules, and what they share."""

import os
import signal
import sys

from gdaopt.errors import NotInstalledError
from gdaopt.support.extras import cli_extra

__all__ = ["main"]

_INTERRUPTED = 130  # exit code, as shells have it: 128 and the number of the signal


def main() -> None:
    """Load the commands and run one; an interrupt before it runs ends the process at once.

    Not by an exception, which modules that are being loaded might take for a missing dependency.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # else a parent has it ignored
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    try:
        with cli_extra("the command gdaopt"):
            from gdaopt.cli.app import app
    except NotInstalledError as error:
        sys.exit(f"error: {error}")
    signal.signal(signal.SIGINT, handler)
    app()
