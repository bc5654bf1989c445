"""HierOPT verified: what every pair of periods reaches in a time budget, and what the chosen ones reach.

    python docs/reproduction/hieropt.py iid 6-class 3-class dirichlet edges uci-har ... (about 5 minutes each)
    python docs/reproduction/hieropt.py cnn                                             (about 20 minutes)
    python docs/reproduction/hieropt.py worth                                           (about 3 minutes)

Each case is trained at every pair of a grid once, long enough for all settings, and evaluated where each budget ends;
so are the pairs that were chosen, off the grid or not. Appends to hieropt.json beside this file. Without arguments, the
page and the pictures are made anew from it. Needs the data sets (`HIERMO_DATA`) and `pip install optuna`.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
import json
from math import prod
from pathlib import Path
import sys
from time import perf_counter
from typing import Any
import warnings

import numpy as np

from hiermo.clock.delays import Delays, load_delays
from hiermo.core.problem import model_size
from hiermo.experiment import recipe_file
from hiermo.experiment.assemble import problem_of
from hiermo.experiment.recipe import Recipe
from hiermo.report.periods_picture import draw_accuracies
from hiermo.tuning.clocked import Clocked
from hiermo.tuning.grid import iterations_within, trained
from hiermo.tuning.tune import Method, Tuning, tune, tuned_part

HERE = Path(__file__).parent
FILE = HERE / "hieropt.json"

# name -> (recipe, what is changed, grid, settings that the calibrated rule was found on or not)
DENSE = ((1, 2, 3, 5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 240), (1, 2, 3, 4, 6, 8, 12, 16))
WIDE = ((1, 2, 5, 10, 20, 40, 80, 160, 320), (1, 2, 4, 8, 16))
COARSE = ((5, 10, 20, 40, 80), (1, 2, 4))
LOGISTIC = "paper/hieropt-logistic"
CLASSES = 'data.partition={{kind="classes", per_worker={}}}'
CASES: dict[str, tuple[str, list[str], Any, bool]] = {
    "iid": (LOGISTIC, [], WIDE, True),
    "6-class": (LOGISTIC, [CLASSES.format(6)], WIDE, True),
    "3-class": (LOGISTIC, [CLASSES.format(3)], DENSE, True),
    "dirichlet": (LOGISTIC, ['data.partition={kind="dirichlet", alpha=0.3}', "train.seed=1"], WIDE, True),
    "edges": (LOGISTIC, ['data.edges={kind="classes", per_worker=4}', "train.seed=2"], WIDE, True),
    "dirichlet-0.1": (LOGISTIC, ['data.partition={kind="dirichlet", alpha=0.1}', "train.seed=4"], WIDE, False),
    "both": (
        LOGISTIC,
        ['data.edges={kind="dirichlet", alpha=0.5}', CLASSES.format(5), "train.seed=5"],
        WIDE,
        False,
    ),
    "uci-har": (
        LOGISTIC,
        ["data.source=uci-har", "data.partition=natural", "train.seed=3", "evaluate.train=true"],
        WIDE,
        False,
    ),
    "cnn": (
        "paper/hieropt-cnn",
        [
            CLASSES.format(6),
            "model.channels=[8, 16]",
            "model.hidden=[64]",
            "algorithm.eta=0.03",
            "evaluate.train=10000",
        ],
        COARSE,
        False,
    ),
}
TITLES = {
    "iid": "logistic on MNIST, i.i.d.",
    "6-class": "logistic on MNIST, 6 classes per worker",
    "3-class": "logistic on MNIST, 3 classes per worker",
    "dirichlet": "logistic on MNIST, Dirichlet 0.3",
    "edges": "logistic on MNIST, 4 classes per edge, workers of an edge alike",
    "dirichlet-0.1": "logistic on MNIST, Dirichlet 0.1",
    "both": "logistic on MNIST, Dirichlet 0.5 among edges, 5 classes per worker",
    "uci-har": "logistic on UCI-HAR, by people",
    "cnn": "CNN (8 and 16 channels) on MNIST, 6 classes per worker",
}
# name -> delays, and two budgets in seconds
SETTINGS: dict[str, tuple[Delays, tuple[float, float]]] = {
    "compute-heavy": (Delays.of_table({"theta_w": 0.1, "phi_w2e": 0.2, "phi_e2c": 0.5}), (61.0, 150.0)),
    "edge-heavy": (Delays.of_table({"theta_w": 0.02, "phi_w2e": 1.0, "phi_e2c": 1.5}), (97.0, 150.0)),
    "cloud-heavy": (Delays.of_table({"theta_w": 0.05, "phi_w2e": 0.2, "phi_e2c": 2.0}), (77.0, 150.0)),
    "paper": (load_delays("paper"), (3.6, 6.4)),  # of a model this small messages are tiny
}
OTHER_BUDGETS: dict[str, dict[str, tuple[float, float]]] = {
    "edges": {"paper": (4.0, 7.3)},
    "both": {"paper": (3.4, 6.1)},
    "uci-har": {"paper": (3.4, 6.1)},
    "dirichlet-0.1": {"paper": (3.6, 6.5)},
    "cnn": {
        "compute-heavy": (25.0, 59.0),
        "edge-heavy": (39.0, 60.0),
        "cloud-heavy": (31.0, 62.0),
        "paper": (19.0, 34.0),
    },
}
FIXED = {"(20, 2)": (20, 2), "(1, 1)": (1, 1)}
WORTH_TAUS, WORTH_PIS, WORTH_AT = (5, 10, 20, 40, 80, 160), (1, 2, 4, 8), (400, 1600)
METHODS: tuple[Method, ...] = ("calibrated", "printed")
METRIC = "train_accuracy"  # as in the paper; the test accuracy is told beside it


def settings_of(case: str, recipe: Recipe, size: Any) -> Iterator[tuple[str, float, Clocked]]:
    part = tuned_part(recipe)
    for name, (delays, usual) in SETTINGS.items():
        for budget_s in OTHER_BUDGETS.get(case, {}).get(name, usual):
            yield name, budget_s, Clocked(replace(recipe, delays=delays), part, size)


def studied(case: str) -> dict[str, Any]:
    name, changes, (taus, pis), found_on = CASES[case]
    recipe = recipe_file.load(name, changes)
    problem = problem_of(recipe)
    size = model_size(problem, recipe.train.seed)
    pairs = [(tau, pi) for tau in taus for pi in pis] + [(1, 1)]
    wanted: dict[tuple[int, ...], set[int]] = {}
    rows: list[dict[str, Any]] = []
    begun, pilots = perf_counter(), []
    for setting, budget_s, clocked in settings_of(case, recipe, size):
        chosen = {
            method: tune(clocked.recipe, clocked.part, problem, budget_s, method=method, pilots=pilots)
            for method in METHODS
        }
        pilots.append(chosen["calibrated"].pilot)
        times = clocked.times(budget_s)
        cells = {pair: t for pair in pairs if (t := iterations_within(clocked, pair, times)) >= 2 * prod(pair)}
        rows.append({"case": case, "setting": setting, "budget_s": budget_s, "cells": cells, "chosen": chosen})
        for pair, t in cells.items():
            wanted.setdefault(pair, set()).add(t)
        for each in chosen.values():
            wanted.setdefault(each.periods, set()).add(each.iterations)
        about(case, setting, budget_s, chosen)
    longest = sum(map(max, wanted.values()))
    say(f"{case}: tuned in {perf_counter() - begun:.0f} s; {len(wanted)} runs, {longest:,} iterations")
    found = trained(clocked, problem, wanted, shown(perf_counter()))
    return {
        "case": case,
        "found_on": found_on,
        "rows": [told(row, found) for row in rows],
    }


def about(case: str, setting: str, budget_s: float, chosen: dict[str, Tuning]) -> None:
    words = ", ".join(f"{name} {each.periods} x {each.rounds}" for name, each in chosen.items())
    say(f"{case}, {setting}, {budget_s:g} s: {words}; pilot {100 * chosen['calibrated'].pilot_share:.1f} %")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def shown(begun: float) -> Any:
    last = [0]

    def show(what: str, done: int, of: int) -> None:
        if 20 * done // of > last[0]:
            last[0] = 20 * done // of
            say(f"  {100 * done // of} % after {perf_counter() - begun:.0f} s")

    return show


def told(row: dict[str, Any], found: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    def at(pair: tuple[int, ...], t: int) -> dict[str, Any]:
        metrics = found.get((pair, t), {METRIC: 0.0, "accuracy": 0.0, "train_loss": None})  # diverged
        values = {name: metrics[name] for name in (METRIC, "accuracy", "train_loss")}
        return {"periods": list(pair), "iterations": t} | {k: v and round(v, 5) for k, v in values.items()}

    chosen = row["chosen"]
    return {
        "setting": row["setting"],
        "budget_s": row["budget_s"],
        "grid": [at(pair, t) for pair, t in row["cells"].items()],
        "chosen": {name: at(each.periods, each.iterations) for name, each in chosen.items()},
        "hieropt_walk": list(chosen["printed"].printed.walk.periods),
        "pilot_share": chosen["calibrated"].pilot_share,
        "pilot": chosen["calibrated"].json()["pilot"],
        "times": chosen["calibrated"].json()["times"],
        "drift": [asdict(each) for each in chosen["calibrated"].estimates.drift],
    }


def worths() -> dict[str, Any]:
    """After how many iterations with tau = pi = 1 the loss of a run is the same, over its own iterations."""
    found: dict[str, Any] = {}
    for case in ("iid", "3-class"):
        recipe = recipe_file.load(CASES[case][0], CASES[case][1])
        problem = problem_of(recipe)
        clocked = Clocked(recipe, tuned_part(recipe), model_size(problem, recipe.train.seed))
        pairs = [(tau, pi) for tau in WORTH_TAUS for pi in WORTH_PIS]
        wanted: dict[tuple[int, ...], Any] = {
            pair: {at // prod(pair) * prod(pair) for at in WORTH_AT if at >= 2 * prod(pair)} for pair in pairs
        }
        wanted = {pair: ends for pair, ends in wanted.items() if ends} | {(1, 1): range(20, 2 * max(WORTH_AT) + 1, 20)}
        losses = {key: metrics["train_loss"] for key, metrics in trained(clocked, problem, wanted).items()}
        plain = sorted((loss, t) for (pair, t), loss in losses.items() if pair == (1, 1))
        found[case] = [
            {"periods": list(pair), "iterations": t, "worth": float(np.interp(loss, *zip(*plain, strict=True))) / t}
            for (pair, t), loss in losses.items()
            if pair != (1, 1)
        ]
    return found


def worth_tables(worth: dict[str, Any]) -> list[str]:
    lines = []
    for case, rows in worth.items():
        known = {(*row["periods"], at): row["worth"] for row in rows for at in WORTH_AT if _is_end(row, at)}
        lines += ["", f"{TITLES[case]}; of {WORTH_AT[0]} / {WORTH_AT[1]} iterations:", ""]
        lines += ["| | " + " | ".join(f"tau = {tau}" for tau in WORTH_TAUS) + " |", "|---|" + "---|" * len(WORTH_TAUS)]
        for pi in WORTH_PIS:
            cells = [
                " / ".join(f"{known[tau, pi, at]:.2f}" if (tau, pi, at) in known else "-" for at in WORTH_AT)
                for tau in WORTH_TAUS
            ]
            lines.append(f"| pi = {pi} | " + " | ".join(cells) + " |")
    return lines


def _is_end(row: dict[str, Any], at: int) -> bool:
    return bool(row["iterations"] == at // prod(row["periods"]) * prod(row["periods"]))


# -- the page


def gaps(row: dict[str, Any], metric: str = METRIC) -> dict[str, float]:
    """Points of accuracy below the grid's best."""
    grid = {tuple(cell["periods"]): cell[metric] for cell in row["grid"]}
    best = max(grid.values())
    found = {name: best - cell[metric] for name, cell in row["chosen"].items()}
    found |= {name: best - grid[pair] for name, pair in FIXED.items() if pair in grid}
    found |= {f"Optuna, {n} run{'s' * (n > 1)}": best - value for n, value in optuna_means(grid).items()}
    return {name: 100 * gap for name, gap in found.items()}


def optuna_means(
    grid: dict[tuple[int, ...], float], trials: tuple[int, ...] = (1, 5, 10), seeds: int = 20
) -> dict[int, float]:
    """What its best trial reaches, in the mean over seeds; a trial is a training run at a pair of the grid."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    taus, pis = (sorted({pair[k] for pair in grid}) for k in (0, 1))
    found: dict[int, list[float]] = {n: [] for n in trials}
    for seed in range(seeds):
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))

        def trial(one: Any) -> float:
            tau, pi = taus[one.suggest_int("tau", 0, len(taus) - 1)], pis[one.suggest_int("pi", 0, len(pis) - 1)]
            return grid.get((tau, pi), 0.0)  # one that does not fit into the budget

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study.optimize(trial, n_trials=max(trials))
        values = [each.value for each in study.trials]
        for n in trials:
            found[n].append(max(values[:n]))
    return {n: float(np.mean(values)) for n, values in found.items()}


def tables(cases: dict[str, Any]) -> list[str]:
    known = [(case, row, gaps(row)) for case in CASES if case in cases for row in cases[case]["rows"]]
    names = list(known[0][2])
    lines = [
        "| data and model | delays | budget | best of the grid | calibrated | " + " | ".join(names[1:]) + " | pilot |",
        "|---|---|---|---|---|" + "---|" * (len(names) - 1) + "---|",
    ]
    for case, row, found in known:
        best = max(row["grid"], key=lambda cell: cell[METRIC])
        at = {name: f" ({', '.join(map(str, row['chosen'][name]['periods']))})" for name in ("calibrated", "printed")}
        cells = [f"{found[name]:+.2f}{at.get(name, '')}" for name in names]
        where = ", ".join(map(str, best["periods"]))
        lines.append(
            f"| {case} | {row['setting']} | {row['budget_s']:g} s | {100 * best[METRIC]:.2f} % ({where}) | "
            + " | ".join(cells)
            + f" | {100 * row['pilot_share']:.1f} % |"
        )
    return [*summary(cases, known, names), "", *lines]


def summary(cases: dict[str, Any], known: list[Any], names: list[str]) -> list[str]:
    lines = ["| | cases | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for title, group in (
        ("found on", [found for case, _, found in known if cases[case]["found_on"]]),
        ("**not found on**", [found for case, _, found in known if not cases[case]["found_on"]]),
        ("all", [found for *_, found in known]),
    ):
        if not group:
            continue
        cells = []
        for name in names:
            values = np.array([found.get(name, np.nan) for found in group])
            values = values[np.isfinite(values)]
            cells.append(f"{values.mean():.2f}, {values.max():.2f}, {int((values <= 0.3).sum())}")
        lines.append(f"| {title} | {len(group)} | " + " | ".join(cells) + " |")
    return lines


def pictures(cases: dict[str, Any]) -> None:
    for case, study in cases.items():
        panels = []
        for row in study["rows"]:
            grid = {tuple(cell["periods"]): cell[METRIC] for cell in row["grid"]}
            if case == "cnn":
                grid.pop((1, 1), None)
            chosen = {
                {"calibrated": "chosen", "printed": "the paper's bound"}[name]: (tuple(cell["periods"]), cell[METRIC])
                for name, cell in row["chosen"].items()
            }
            panels.append((f"{row['setting']}, {row['budget_s']:g} s", grid, chosen))
        draw_accuracies(panels, HERE / f"hieropt-{case}.png", TITLES[case], columns=4 if len(panels) > 4 else 2)


def page(known: dict[str, Any]) -> str:
    text = (HERE / "hieropt.txt").read_text()
    cases = {case: known[case] for case in CASES if case in known}
    shown = "\n\n".join(f"![{TITLES[case]}](hieropt-{case}.png)" for case in cases)
    text = text.replace("TABLES", "\n".join(tables(cases))).replace("PICTURES", shown)
    return text.replace("WORTH", "\n".join(worth_tables(known["worth"])))


def write(known: dict[str, Any]) -> None:
    """A line for each row of a case."""
    texts = []
    for name, study in known.items():
        parts = study if name == "worth" else {"found_on": study["found_on"], "rows": study["rows"]}
        rows = [f'"{key}": ' + _lines(value) for key, value in parts.items()]
        texts.append(f'"{name}": {{\n' + ",\n".join(rows) + "\n}")
    FILE.write_text("{\n" + ",\n".join(texts) + "\n}\n")


def _lines(value: Any) -> str:
    if not isinstance(value, list):
        return json.dumps(value)
    return "[\n" + ",\n".join(json.dumps(each) for each in value) + "\n]"


def main() -> None:
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    for case in sys.argv[1:]:
        known[case] = worths() if case == "worth" else studied(case)
        write(known)
    pictures({case: known[case] for case in CASES if case in known})
    (HERE / "hieropt.md").write_text(page(known))


if __name__ == "__main__":
    main()
