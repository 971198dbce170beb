"""Check the files, and solve all sequences with HiGHS, hot and cold: python replay.py"""

import json
from hashlib import sha256
from pathlib import Path

import highspy

HERE = Path(__file__).resolve().parent


def changed():
    text = (HERE / "manifest.json").read_bytes()
    digest = sha256(text).hexdigest()
    if (HERE / "manifest.json.sha256").read_text() != f"{digest}  manifest.json\n":
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
