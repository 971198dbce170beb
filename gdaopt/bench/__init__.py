"""The comparison of solvers: the programs of a run are recorded, solved again, and judged.

The command ``gdaopt bench`` makes a study of it, or writes a set of sequences for others; ``gdaopt
export`` writes single programs.
"""

from gdaopt.bench.recorded import RecordedProgram, load_programs, recording, save_programs
from gdaopt.bench.replayed import Replayed, replay
from gdaopt.bench.sequences import Sequence

__all__ = [
    "RecordedProgram",
    "Replayed",
    "Sequence",
    "load_programs",
    "recording",
    "replay",
    "save_programs",
]
