"""What was run, in one paragraph, computed from the runs."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hiermo.experiment.store import StoredRun
from hiermo.report.plain import counted, listed, number, text
from hiermo.topology.tree import Tree

STATES = ("finished", "running", "stopped", "failed", "new")
IN_WORDS = {"new": "not begun"}


def paragraph(runs: Sequence[StoredRun], tree: Tree | None) -> str:
    """Algorithms, data, model, tree, periods, length, seeds, delays, how many are done, when and on what machine."""
    labels = list(dict.fromkeys(run.label for run in runs))
    what = (
        f"{listed(labels)} {'trains' if len(labels) == 1 else 'train'} {_values(runs, 'model.name')}{_parameters(runs)}"
    )
    dealt = _values(runs, "data.partition.kind")
    among = f", divided {dealt} among {_under(tree)}" if tree is not None else ""
    first = f"{what} on {_values(runs, 'data.source')}{among}."
    return " ".join(filter(None, (first, _length(runs), _seeds(runs), _flat(runs, tree), _delays(runs), _made(runs))))


def states(runs: Sequence[StoredRun]) -> dict[str, int]:
    found = Counter(str(run.condition) for run in runs)
    return {name: found[name] for name in STATES if found[name]}


def states_in_words(runs: Sequence[StoredRun]) -> str:
    """`9 runs: 8 finished, 1 failed.`"""
    told = ", ".join(f"{n} {IN_WORDS.get(name, name)}" for name, n in states(runs).items())
    return f"{counted(len(runs), 'run')}: {told}."


def _under(tree: Tree) -> str:
    workers = counted(tree.n_workers, "worker")
    if tree.tiers == 2:
        return f"{workers} under the cloud"
    edges = counted(tree.counts[1], "edge")
    return f"{workers} under {edges}" + (f", on {tree.tiers} tiers" if tree.tiers > 3 else "")


def _values(runs: Sequence[StoredRun], key: str) -> str:
    found = dict.fromkeys(text(run.keys.get(key, "?"), 60) for run in runs)
    return listed(found, most=6)


def _parameters(runs: Sequence[StoredRun]) -> str:
    sizes = {number((run.result or {}).get("parameters")) for run in runs} - {None}
    return f" ({sizes.pop():,.0f} parameters)" if len(sizes) == 1 else ""


def _numbers(runs: Sequence[StoredRun], key: str) -> list[Any]:
    found = {value for run in runs if (value := number(run.keys.get(key))) is not None}
    return [f"{each:,g}" if each < 1e5 else f"{each:,.0f}" for each in sorted(found)]


def _length(runs: Sequence[StoredRun]) -> str:
    periods = [f"{name} = {listed(found, 8)}" for name in ("tau", "pi") if (found := _numbers(runs, f"periods.{name}"))]
    if not periods and isinstance(several := runs[0].keys.get("periods"), list):
        periods = [f"periods {text(several, 60)}"]
    iterations, batch = (listed(_numbers(runs, f"train.{key}"), 8) or "?" for key in ("iterations", "batch"))
    return f"{', '.join(periods)}; {iterations} iterations of every worker, in batches of {batch}."


def _seeds(runs: Sequence[StoredRun]) -> str:
    seeds = sorted({run.seed for run in runs})
    told = listed(seeds, 8)
    return f"{counted(len(seeds), 'seed')} ({told})." if len(seeds) > 1 else f"Seed {told}."


def _flat(runs: Sequence[StoredRun], tree: Tree | None) -> str:
    if tree is None or tree.tiers == 2:
        return ""
    flattened = dict.fromkeys(run.label for run in runs if is_flattened(run))
    return f"{listed(flattened)}: all workers under the cloud, with the product of the periods." if flattened else ""


def is_flattened(run: StoredRun) -> bool:
    """Whether a finished run sent straight from workers to the cloud."""
    links = (run.result or {}).get("bytes_per_link")
    return isinstance(links, dict) and "worker-cloud" in links


def _delays(runs: Sequence[StoredRun]) -> str:
    found = dict.fromkeys(text(run.result["delays"], 80) for run in runs if run.result and "delays" in run.result)
    return f"Simulated seconds: {listed(found, 4)}." if found else ""


def _made(runs: Sequence[StoredRun]) -> str:
    days = sorted({day for run in runs if (day := _day(run.date))})
    machines = dict.fromkeys(
        f"{text(start['cpu'], 60)} ({text(start.get('cores', '?'), 8)} cores)"
        for run in runs
        for start in run.starts[-1:]
        if "cpu" in start
    )
    versions = dict.fromkeys(
        text(start["hiermo"], 20) for run in runs for start in run.starts[-1:] if "hiermo" in start
    )
    when = "" if not days else days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    parts = [
        when,
        f"on {listed(machines, 3)}" if machines else "",
        f"with hiermo {listed(versions, 3)}" if versions else "",
    ]
    told = " ".join(filter(None, parts))
    return f"{states_in_words(runs)} Made {told}." if told else states_in_words(runs)


def _day(date: str | None) -> str | None:
    try:
        return datetime.fromisoformat(date or "").date().isoformat()
    except ValueError:
        return None
