"""What stands beside the sequences of the set: a page, a licence, a script to begin with."""

from __future__ import annotations

README = """\
# Sequences of linear programs

Series of small linear programs, each a little different from the one before: what a solver sees
that is called again and again. They are recorded from runs of gdaopt, which learns metrics from
labelled samples by Frank–Wolfe methods: each step minimises a linear function over a polytope,
which may change with the steps as well.

    min c'x   s.t.   l ≤ x ≤ u,   L ≤ A x ≤ U

| family | programs |
|---|---|
| `diagonal` | lower bounds, and one row: a budget |
| `column` | fractional knapsacks: bounds on both sides, and one row with weights |
| `joint` | all entries of a symmetric matrix: a row for each feature, and a budget |
| `rows` | programs of these three kinds with three dense rows of a user's |
| `signed` | columns and matrices with entries of either sign: a variable for each sign |

The name of a sequence says family, kind of program and data: `wine` and `breast_cancer` are
those of scikit-learn, `synthetic-K` two Gaussian clouds of K features, from a seed.

## Files

* `NAME/NAME_000.mps.gz`, …: the programs, in order. All numbers are written such that they are
  read to the last bit; the costs, bounds and coefficients are of about the size 1. Coefficients
  up to 1e-9, which solvers drop when they read a file, are left out.
* `NAME/NAME.test`: the names of the files in order, as in the series of the MIP Workshop's
  computational competition of 2023.
* `NAME/manifest.json`: for each program its least value, rounded, and what has changed since
  the one before: costs, coefficients, bounds, right-hand sides.
* `NAME/optima.json.gz`: for each program the least value, an optimal vertex (`point`), and the
  duals of the rows, without round-off: a number is exact as a binary fraction, a text is a
  fraction `p/q`. The reduced costs `c - A'y` are the multipliers of the bounds. Feasibility,
  signs and complementarity were checked in rational arithmetic, so that each value is proven.
* `manifest.json`: all sequences, and size and SHA-256 of each file; its own is in
  `manifest.json.sha256`.

## Use

`python replay.py` checks all files, solves all sequences with HiGHS, each program from the last
basis and from the start, and compares. It needs `highspy`. With gdaopt, `gdaopt bench --data
NAME` compares solvers on a sequence. The command that wrote the set is in `manifest.json`; with
the same versions it writes the same bytes.

Programs and texts: CC-BY-4.0, see `LICENSE`. Please name gdaopt when you publish what you
found.
"""

LICENCE = """\
Sequences of linear programs, recorded with gdaopt
Copyright (c) 2026 the gdaopt contributors

The files in this directory are licensed under the Creative Commons Attribution 4.0 International
License (CC-BY-4.0). You may share and adapt them for any purpose when you give credit, link to the
licence and say what you changed: https://creativecommons.org/licenses/by/4.0/legalcode
"""

REPLAY = '''\
"""Check the files, and solve all sequences with HiGHS, hot and cold: python replay.py"""

import json
from hashlib import sha256
from pathlib import Path

import highspy

HERE = Path(__file__).resolve().parent


def changed():
    text = (HERE / "manifest.json").read_bytes()
    digest = sha256(text).hexdigest()
    if (HERE / "manifest.json.sha256").read_text() != f"{digest}  manifest.json\\n":
        return ["manifest.json"]
    files = json.loads(text)["files"]
    found = {name: sha256((HERE / name).read_bytes()).hexdigest() for name in files}
    return [name for name, entry in files.items() if found[name] != entry["sha256"]]


def replay(folder):
    found = {"hot": [0.0, 0], "cold": [0.0, 0]}  # the worst relative error, and iterations
    models = {start: highspy.Highs() for start in found}
    for program in json.loads((folder / "manifest.json").read_bytes())["programs"]:
        for start, model in models.items():
            model.setOptionValue("output_flag", False)
            basis = model.getBasis()
            model.readModel(str(folder / program["file"]))
            if start == "hot" and basis.valid:
                model.setBasis(basis)
            model.run()
            off = abs(model.getObjectiveValue() - program["optimum"])
            found[start][0] = max(found[start][0], off / max(1, abs(program["optimum"])))
            found[start][1] += model.getInfoValue("simplex_iteration_count")[1]
    return found


if __name__ == "__main__":
    print("changed files:", changed() or "none")
    for folder in sorted(path.parent for path in HERE.glob("*/manifest.json")):
        print(folder.name, replay(folder))
'''
