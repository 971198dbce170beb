"""Compare learners: ``python experiments/learners``, from the top of a checkout."""

import sys
from pathlib import Path

# Python has put the folder of this file first. Its modules are those of the package ``learners``,
# by whose name worker processes find them too: they take over `sys.path`.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from learners.command import main  # noqa: E402 (the line above finds it)

if __name__ == "__main__":
    main()
