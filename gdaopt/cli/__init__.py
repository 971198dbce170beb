"""The command line, one file a command."""

from gdaopt.cli.app import app

__all__ = ["app"]
