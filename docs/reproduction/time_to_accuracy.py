"""The paper's time to a training accuracy of 0.95 in both settings, of finished runs: a table, a picture, a page.

    hiermo run paper/time-to-accuracy-1 --seed 0 --out runs/setting-1-seed-0      (about an hour on two cores)
    hiermo run paper/time-to-accuracy-2 --seed 0 --out runs/setting-2-seed-0
    hiermo run quick/time-to-accuracy --seed 0 --out runs/logistic-seed-0                      (ten seconds)
    python docs/reproduction/time_to_accuracy.py 1=runs/setting-1-seed-0 2=runs/setting-2-seed-0 \\
        logistic=runs/logistic-seed-0

Writes time-to-accuracy.json, .md and two pictures beside this file. Without arguments, the page and the pictures are
made anew from the committed .json.
"""

import json
from pathlib import Path
import sys
from typing import Any

from hiermo.clock.delays import load_delays
from hiermo.experiment.retime import Retimed, retime
from hiermo.experiment.run_directory import RunDirectory, opened
from hiermo.report.time_to import Reached, digits, draw_times, saving, time_to

HERE = Path(__file__).parent
TARGETS = {"1": {"train_accuracy": 0.95}, "2": {"train_accuracy": 0.95}, "logistic": {"train_accuracy": 0.87}}
TITLES = {"1": "CNN on MNIST, setting 1", "2": "CNN on MNIST, setting 2", "logistic": "logistic on 5000 digits"}
DRAWS = 20
PUBLISHED = {"1": (558.94, 706.18, 1544.76), "2": (459.48, 599.73, 1532.65)}  # HierMo; least and most of the others
FREE = "Mime, full gradients free"  # as the formula of the paper has it, which knows of none
ORDER = ("HierMo", "HierFAVG", "CFL", "DOMO", "FedADC", "FedMom", "SlowMo", "FedNAG", "Mime", "FedAvg", FREE)


def measured(setting: str, folder: str) -> list[dict[str, Any]]:
    """Every run under every draw: label, seed, draw, seconds, iterations, bytes."""
    delays, found = load_delays("paper"), []
    for directory in opened(Path(folder)):
        recipe = directory.recipe()
        seed = recipe.train.seed
        told = retime(directory, delays, range(DRAWS))
        if (
            recipe.algorithms[0].made.asks is not None
        ):  # as the paper's formula has it, which knows of no full gradients
            free = retime(directory, delays, range(DRAWS), full_gradients=False)
            told += [each._replace(label=FREE) for each in free]
        for each in told:
            end = each.when(TARGETS[setting])
            if end is None:
                raise SystemExit(f"{directory.path} has not reached {TARGETS[setting]}")
            row = {name: end[name] for name in ("iteration", "simulated_seconds", "bytes", "train_accuracy")}
            found.append({"setting": setting, "label": each.label, "seed": seed, "draw": each.draw, **row})
    return found


def reached(setting: str, rows: list[dict[str, Any]]) -> list[Reached]:
    as_runs = [
        Retimed(row["label"], RunDirectory(Path(f"{row['label']}-{row['seed']}")), row["draw"], [row])
        for row in sorted(rows, key=lambda row: ORDER.index(row["label"]))
        if row["setting"] == setting
    ]
    return time_to(as_runs, TARGETS[setting])


def table(setting: str, rows: list[dict[str, Any]]) -> list[str]:
    found = reached(setting, rows)
    lines = [
        "| algorithm | seeds | iterations | seconds, mean ± deviation (least to most) | HierMo saves |",
        "|---|---|---|---|---|",
    ]
    for each in sorted(found, key=lambda each: each.mean):
        share = saving(found, each)
        least, most = min(each.seconds), max(each.seconds)
        spread = f"{digits(each.mean)} ± {digits(each.deviation)} ({digits(least)} to {digits(most)})"
        saved = "" if share is None else f"{100 * share:.0f} %"
        lines.append(f"| {each.label} | {each.runs} | {each.iterations:.0f} | {spread} | {saved} |")
    ours = next(each for each in found if each.label == "HierMo")
    others = [each.mean for each in found if each.label != "HierMo"]
    savings = [share for each in found if (share := saving(found, each)) is not None]
    if setting not in PUBLISHED:
        return lines
    published, least, most = PUBLISHED[setting]
    low, high = (100 * (1 - published / other) for other in (least, most))
    lines += [
        "",
        "| | published | here |",
        "|---|---|---|",
        f"| HierMo | {published} s | {ours.mean:.0f} s |",
        f"| the others | {least} to {most} s | {min(others):.0f} to {max(others):.0f} s |",
        f"| HierMo saves | {low:.0f} to {high:.0f} % | {100 * min(savings):.0f} to {100 * max(savings):.0f} % |",
    ]
    return lines


def page(rows: list[dict[str, Any]]) -> str:
    text = (HERE / "time-to-accuracy.txt").read_text()
    for setting in TARGETS:
        text = text.replace(f"TABLE {setting}", "\n".join(table(setting, rows)))
    return text


def main() -> None:
    file = HERE / "time-to-accuracy.json"
    if sys.argv[1:]:
        given = [word.partition("=") for word in sys.argv[1:]]
        rows = [row for setting, _, folder in given for row in measured(setting, folder)]
        file.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    rows = json.loads(file.read_text())
    for setting, target in TARGETS.items():
        path = HERE / f"time-to-accuracy-{setting}.png"
        draw_times(reached(setting, rows), target, str(load_delays("paper")), path, TITLES[setting])
    (HERE / "time-to-accuracy.md").write_text(page(rows))


if __name__ == "__main__":
    main()
