"""The comparison of solvers: the programs of a run are recorded, solved again, and judged.

The command ``gdaopt bench`` makes a study of it, and ``gdaopt export`` writes single programs.
"""

from gdaopt.bench.recorded import RecordedProgram, load_programs, recording, save_programs
from gdaopt.bench.replayed import Replayed, replay

__all__ = [
    "RecordedProgram",
    "Replayed",
    "load_programs",
    "recording",
    "replay",
    "save_programs",
]
