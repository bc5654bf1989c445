"""The constants of a run and what the theorems say of it, as tables."""

from collections.abc import Iterator

from rich import box
from rich.table import Table

from hiermo.tuning.theorems import Checked, Inequality

MEANINGS = {
    "rho": "largest gradient of a worker",
    "beta": "smoothness: gradients differ by so much per distance",
    "delta": "what workers differ from their edges, the paper's",
    "edge_to_cloud": "what edges differ from the cloud",
    "worker_to_cloud": "what workers differ from the cloud",
    "jump": "how far a merge of the cloud moves an edge's model",
    "mu": "largest gamma |v| / (eta |gradient|)",
    "omega": "least 1 / |x_{p} - x*|^2",
    "sigma": "least ratio of two gradients in a round of the cloud",
    "alpha": "what an iteration is sure to gain, per squared gradient",
}
UNKNOWN = "-"


def constants_table(checked: Checked) -> Table:
    table = Table(title="constants of this run", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("constant", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("what it is", overflow="fold")
    found = checked.json()["constants"]
    for name, meaning in MEANINGS.items():
        unknown = name == "omega" and checked.minimum is None
        table.add_row(name, UNKNOWN if unknown else digits(found[name]), meaning)
    least = checked.minimum
    if least is not None:
        table.add_row("F(x*)", digits(least.loss), f"{least.found_by}; |gradient| there {digits(least.slope)}")
    return table


def theorems_table(checked: Checked) -> Table:
    """A row for what is printed, and below it one for what holds in its place; worst of all iterations and edges."""
    table = Table(title="the theorems", title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("theorem", no_wrap=True)
    for name in ("left", "right", "left/right"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("worst at", no_wrap=True)
    table.add_column("holds", no_wrap=True)
    for theorem in checked.theorems:
        table.add_row(theorem.name, *_sides(theorem.printed))
        if theorem.corrected is not None:
            table.add_row("  corrected", *_sides(theorem.corrected))
    return table


def sentences(checked: Checked) -> Iterator[str]:
    """What each theorem says, and why it does not where it does not."""
    for theorem in checked.theorems:
        yield f"{theorem.name}: {theorem.says}"
    for theorem in checked.theorems:
        if theorem.printed.refusal:
            yield f"{theorem.name} is not applicable: {theorem.printed.refusal}"


def _sides(side: Inequality) -> list[str]:
    if side.right is None:
        return [UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, "not applicable"]
    told = side.json()
    if not side.ratios.any():
        return [digits(float(side.left.max())), digits(float(side.right.max())), "0", UNKNOWN, "yes"]
    place = f"t = {told['iteration']}" + (f", edge {told['edge']}" if "edge" in told else "")
    return [
        digits(told["left"]),
        digits(told["right"]),
        digits(told["ratio"], places=4),
        place,
        "yes" if told["holds"] else "NO",
    ]


def digits(number: float | None, places: int = 3) -> str:
    """As many as tell numbers apart.

    >>> digits(0.0012514), digits(174.978), digits(4.9e12), digits(0.0), digits(None)
    ('0.00125', '175', '4.9e+12', '0', 'infinite')
    """
    return "infinite" if number is None else f"{number:.{places}g}"
