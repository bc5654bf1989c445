"""The paper's theorems on real runs: numbers, pictures, and the page docs/theory.md.

    python docs/theory/check_theorems.py          (one to two minutes on two cores)
    python docs/theory/check_theorems.py page     (the page alone, from the committed numbers)

Writes numbers.json and the pictures beside this file, and ../theory.md from theory.txt.
"""

import json
from pathlib import Path
import sys
from typing import Any

import numpy as np

import hiermo
from hiermo.experiment import recipe_file
from hiermo.report.bounds_picture import draw_bounds
from hiermo.report.bounds_table import digits
from hiermo.theory.bounds import theorem_6
from hiermo.tuning.check import check
from hiermo.tuning.check_recipe import check_recipe, checkable, whole_problem
from hiermo.tuning.theorems import Checked

HERE = Path(__file__).parent
PAIRS = hiermo.Tree.regular(edges=2, workers_per_edge=2)
LOGISTIC = ("model=logistic", "train.weight_decay=0.01")
DIGITS = {  # name -> changes of quick/digits, iterations
    "digits": ((*LOGISTIC, "algorithm.eta=0.01"), None),
    "digits-strong-momentum": ((*LOGISTIC, "algorithm.eta=0.003", "algorithm.gamma_a=0.9"), 200),
}
QUADRATICS = 300


def on_digits(name: str) -> dict[str, Any]:
    changes, iterations = DIGITS[name]
    recipe, part = checkable(recipe_file.load("quick/digits", changes), iterations)
    checked = check_recipe(recipe, part, whole_problem(recipe))
    tau, pi = recipe.periods
    made = part.made
    about = f"eta = {made.eta:g}, gamma = {made.gamma:g}, gamma_a = {made.gamma_a:g}, tau = {tau}, pi = {pi}"
    draw_bounds(checked, HERE / f"{name}.png", f"logistic on mnist-5k, {recipe.tree.build()}; {about}")
    ours = theorem_6(recipe.train.iterations, recipe.periods, checked.constants)
    return {"iterations": recipe.train.iterations, **checked.json(), "theorem_6": ours._asdict()}


def linear() -> hiermo.Quadratic:
    """The same constant gradient for everyone."""
    return hiermo.Quadratic(A=np.zeros((4, 2, 2)), b=np.tile([3.0, 4.0], (4, 1)), sizes=[1] * 4)


def unlike_edges() -> hiermo.Quadratic:
    """Identical workers inside each edge: (x - 1)^2 / 2 under edge 0, 2 x^2 under edge 1."""
    A = np.array([1.0, 1.0, 4.0, 4.0])[:, None, None]  # noqa: N806 - the paper's letter
    return hiermo.Quadratic(A=A, b=[[1.0], [1.0], [0.0], [0.0]], sizes=[1] * 4, x0=[0.4])


def on_linear_losses() -> dict[str, Any]:
    second, third, sixth = [], [], []
    for gamma_a in (0.3, 0.5, 0.9):
        found = check(hiermo.HierMo(gamma_a=gamma_a), PAIRS, linear(), periods=(10, 2), iterations=2000)
        second.append({"gamma_a": gamma_a, "expected": 1 / (1 - gamma_a), **ratios(found, "Theorem 2")})
    for pi in (2, 3, 5):
        found = check(hiermo.HierMo(), PAIRS, linear(), periods=(10, pi), iterations=10 * pi * 20)
        row = {"pi": pi, "expected": 2 * (pi - 1) / pi, **ratios(found, "Theorem 3")}
        third.append({**row, "j_expected": 2 * pi / (pi + 1), "j": ratios(found, "j")})
    draw_bounds(found, HERE / "linear.png", "linear loss, everyone alike; gamma = gamma_a = 0.5, tau = 10, pi = 5")
    for gamma in (0.3, 0.5, 0.7):
        found = check(hiermo.HierMo(gamma=gamma), PAIRS, linear(), periods=(10, 2), iterations=400)
        c = found.constants
        sixth.append({"gamma": gamma, "mu": c.mu, "expected": gamma / (1 - gamma), "gain": c.alpha / c.eta})
    return {"theorem_2": second, "theorem_3": third, "theorem_6": sixth}


def on_unlike_edges() -> dict[str, Any]:
    problem, algorithm = unlike_edges(), hiermo.HierMo(eta=0.02, gamma_a=1e-6)
    found = check(algorithm, PAIRS, problem, periods=(5, 2), iterations=8000, minimiser=problem.minimiser())
    about = "identical workers under unlike edges; eta = 0.02, gamma = 0.5, gamma_a = 1e-6, tau = 5, pi = 2"
    draw_bounds(found, HERE / "unlike-edges.png", about)
    return {"iterations": 8000, **found.json()}


def on_quadratics() -> dict[str, Any]:
    """Random trees, periods, momenta and step sizes."""
    rng = np.random.default_rng(0)
    worst: dict[str, float] = {}
    failed: dict[str, int] = {}
    checked = 0
    while checked < QUADRATICS:
        tree = hiermo.Tree.regular(edges=3, workers_per_edge=rng.integers(1, 4, size=3).tolist())
        tau, pi = int(rng.integers(1, 13)), int(rng.integers(1, 6))
        eta, gamma, gamma_a = 10 ** rng.uniform(-3.5, -1), rng.uniform(0.05, 0.9), rng.uniform(0, 0.9)
        problem = quadratic(tree.n_workers, rng)
        algorithm = hiermo.HierMo(eta=float(eta), gamma=float(gamma), gamma_a=float(gamma_a))
        found = check(
            algorithm, tree, problem, periods=(tau, pi), iterations=8 * tau * pi, minimiser=problem.minimiser()
        )
        checked += 1
        for theorem in found.theorems:
            for name, side in (("printed", theorem.printed), ("corrected", theorem.corrected)):
                if side is None or side.holds is None:
                    continue
                key = f"{theorem.name}, {name}"
                worst[key] = max(worst.get(key, 0.0), side.ratio)
                failed[key] = failed.get(key, 0) + (not side.holds)
                failed[f"{key}, of"] = failed.get(f"{key}, of", 0) + 1
    finite = {key: value if np.isfinite(value) else None for key, value in worst.items()}
    return {"problems": checked, "worst": finite, "failed": failed}


def quadratic(n: int, rng: np.random.Generator) -> hiermo.Quadratic:
    """Curvatures from 0.2 to 2 in three directions, unequal data."""
    turn = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    A = turn * rng.uniform(0.2, 2.0, size=(n, 1, 3)) @ turn.transpose(0, 2, 1)  # noqa: N806 - the paper's letter
    return hiermo.Quadratic(A=A, b=rng.normal(size=(n, 3)), sizes=rng.integers(1, 20, size=n), x0=rng.normal(size=3))


def ratios(found: Checked, name: str) -> dict[str, Any]:
    theorem = found.theorem(name)
    assert theorem.corrected is not None
    return {"printed": theorem.printed.ratio, "corrected": theorem.corrected.ratio}


def theorem_rows(found: dict[str, Any]) -> list[str]:
    lines = ["| | left | right | left / right | holds |", "|---|---|---|---|---|"]
    for theorem in found["theorems"]:
        sides = [(theorem["name"], theorem["printed"]), (f"{theorem['name']}, corrected", theorem.get("corrected"))]
        for name, side in sides:
            if side is not None and side["applies"]:
                numbers = " | ".join(digits(side[key]) for key in ("left", "right", "ratio"))
                lines.append(f"| {name} | {numbers} | {'yes' if side['holds'] else '**no**'} |")
            elif side is not None:
                lines.append(f"| {name} | | | | not applicable: {side['why']} |")
    return lines


def constants_row(found: dict[str, Any]) -> list[str]:
    names = ("rho", "beta", "delta", "edge_to_cloud", "worker_to_cloud", "jump", "mu", "omega", "sigma", "alpha")
    values = " | ".join(digits(found["constants"][name]) for name in names)
    return [f"| {' | '.join(names)} |", "|" + "---|" * len(names), f"| {values} |"]


def tables(numbers: dict[str, Any]) -> dict[str, list[str]]:
    """What stands in the place of each TABLE of theory.txt."""
    flat, random = numbers["linear"], numbers["quadratics"]
    second = ["| gamma_a | 1 / (1 - gamma_a) | measured | corrected |", "|---|---|---|---|"]
    second += [
        f"| {row['gamma_a']} | {row['expected']:.4f} | {row['printed']:.4f} | {row['corrected']:.4f} |"
        for row in flat["theorem_2"]
    ]
    third = ["| pi | (pi-1) / (pi (1-gamma_a)) | measured | corrected | j: expected | measured | corrected |"]
    third.append("|---|---|---|---|---|---|---|")
    third += [
        f"| {row['pi']} | {row['expected']:.4f} | {row['printed']:.4f} | {row['corrected']:.4f} "
        f"| {row['j_expected']:.4f} | {row['j']['printed']:.4f} | {row['j']['corrected']:.4f} |"
        for row in flat["theorem_3"]
    ]
    sixth = [
        "| gamma | gamma / (1 - gamma) | mu measured | alpha / eta of HierMo | of HierFAVG |",
        "|---|---|---|---|---|",
    ]
    sixth += [
        f"| {row['gamma']} | {row['expected']:.4f} | {row['mu']:.4f} | {row['gain']:.4f} | 1 |"
        for row in flat["theorem_6"]
    ]
    some = ["| | fails in | largest left / right |", "|---|---|---|"]
    for key, worst in random["worst"].items():
        some.append(f"| {key} | {random['failed'][key]} of {random['failed'][f'{key}, of']} | {digits(worst)} |")
    compared = ["| | mu | alpha of HierMo | of HierFAVG | f(T) of HierMo | of HierFAVG |", "|---|---|---|---|---|---|"]
    for name in DIGITS:
        each, mu = numbers[name]["theorem_6"], numbers[name]["constants"]["mu"]
        order = ("alpha_hiermo", "alpha_hierfavg", "hiermo", "hierfavg")
        compared.append(f"| {name} | {digits(mu)} | {' | '.join(digits(each[key], 4) for key in order)} |")
    found = {"theorem 2": second, "theorem 3": third, "theorem 6": sixth, "quadratics": some, "compared": compared}
    for name in (*DIGITS, "unlike-edges"):
        found[name] = theorem_rows(numbers[name])
        found[f"constants {name}"] = constants_row(numbers[name])
    return found


def page(numbers: dict[str, Any]) -> str:
    made = tables(numbers)
    lines = []
    for line in (HERE / "theory.txt").read_text().splitlines():
        lines += made[line.removeprefix("TABLE ")] if line.startswith("TABLE ") else [line]
    return "\n".join(lines) + "\n"


def main() -> None:
    file = HERE / "numbers.json"
    if sys.argv[1:] != ["page"]:
        numbers = {"linear": on_linear_losses(), "unlike-edges": on_unlike_edges(), "quadratics": on_quadratics()}
        numbers |= {name: on_digits(name) for name in DIGITS}
        file.write_text(json.dumps(numbers, indent=1) + "\n")
    (HERE.parent / "theory.md").write_text(page(json.loads(file.read_text())))


if __name__ == "__main__":
    main()
