"""The command line: its commands, and what they share."""

from gdaopt.cli.app import app

__all__ = ["app"]
