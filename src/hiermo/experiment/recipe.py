"""Recipes: an experiment as a validated, frozen value; TOML in, TOML out.

Nothing here imports torch: a recipe is checked, and its run directory made, before anything heavy is loaded.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any
import warnings

from hiermo.algorithms import ALGORITHMS
from hiermo.clock.absence import Absence
from hiermo.clock.clock import Clock
from hiermo.clock.delays import Delays, parse_delays
from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import UserError
from hiermo.core.parameter import options, suggestion
from hiermo.core.plan import Setting
from hiermo.core.registry import Registry
from hiermo.core.schedule import SCHEDULES
from hiermo.core.until import SIMULATED
from hiermo.data.partition import PARTITIONS
from hiermo.data.sources import SOURCES
from hiermo.engine.run import check_iterations
from hiermo.experiment.faults import Faults
from hiermo.experiment.part import Part, label_of, labelled, named, part_of
from hiermo.experiment.tables import (
    DataTable,
    EngineTable,
    EvaluateTable,
    InputTable,
    PeriodsTable,
    TrainTable,
    TreeTable,
    WeightsTable,
)
from hiermo.models import MODELS
from hiermo.topology.tree import Tree

FORMAT = 1
USUAL_PERIODS = (10, 2)  # the paper's, where a recipe of two or three tiers says nothing


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One experiment: the same tree, data and model for each of its algorithms."""

    name: str
    description: str
    source: Part
    partition: Part
    edges: Part | None  # the partition among the edges, where there is one of its own
    share: DataTable
    model: Part
    start: WeightsTable
    input: InputTable
    tree: TreeTable
    periods: tuple[int, ...]
    train: TrainTable
    evaluate: EvaluateTable
    engine: EngineTable
    delays: Delays | None
    absence: Absence
    schedule: Part
    algorithms: tuple[Part, ...]
    import_from: tuple[str, ...] = field(default=())  # folders that import paths are looked for in

    def single(self, part: Part) -> "Recipe":
        """The recipe of one run."""
        return replace(self, algorithms=(part,))

    def placed(self, part: Part) -> tuple[Tree, tuple[int, ...]]:
        """The tree and the periods that an algorithm runs with: flattened for a two-tier one, where asked for."""
        tree = self.tree.build()
        if self.tree.flatten and part.made.tiers == 2 and tree.tiers > 2:
            return tree.flatten(), (prod(self.periods),)
        return tree, self.periods

    def bound(self, part: Part) -> tuple[Algorithm, Setting]:
        """An algorithm as it will run, and what its plan is a function of."""
        tree, periods = self.placed(part)
        setting = Setting(tree, periods, self.train.iterations, self.train.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the run itself will warn
            return part.made.bind(setting), setting


TABLES = ("data", "input", "model", "tree", "periods", "train", "evaluate", "engine", "delays", "absence", "algorithm")
KEYS = ("format", "name", "description", "import_from", *TABLES)


def parse(raw: dict[str, Any], name: str = "", folders: Sequence[Path] = (), home: Path | None = None) -> Recipe:
    """A recipe out of what TOML gave; every fault is one sentence that names its key.

    `home` is the run directory that it lies in, with the files that belong to the run.
    """
    said = Faults()
    for key in raw:
        if key not in KEYS:
            said.add(key, f"is not a known key{suggestion(key, KEYS)}")
    if raw.get("format", FORMAT) != FORMAT:
        said.add("format", f"must be {FORMAT}: this is what this version reads, not {raw['format']!r}")
    for key in ("name", "description"):
        if not isinstance(raw.get(key, ""), str):
            said.add(key, f"must be a text, not {raw[key]!r}")
    if not _is_texts(raw.get("import_from", [])):
        said.add("import_from", f"must be a list of folders, not {raw['import_from']!r}")
    search = searched(raw, folders)

    def part(registry: Registry, at: str, table: Any, key: str = "name", extra: Sequence[str] = ()) -> Any:
        return part_of(said, registry, at, table, key, search, extra)

    data = named(raw.get("data", {}), "source")
    model_table = named(raw.get("model", {}), "name")
    model = part(MODELS, "model", model_table, extra=tuple(options(WeightsTable)))
    start = _only(model_table, WeightsTable)
    source = part(SOURCES, "data", data, "source", extra=("partition", "edges", *options(DataTable)))
    by = {key: data.get(key) if isinstance(data, dict) else None for key in ("partition", "edges")}
    partition = part(PARTITIONS, "data.partition", named(by["partition"] or "iid", "kind"), "kind")
    edges = None if by["edges"] is None else part(PARTITIONS, "data.edges", named(by["edges"], "kind"), "kind")
    train = raw.get("train", {})
    plan = train.get("schedule", "constant") if isinstance(train, dict) else "constant"
    schedule = part(SCHEDULES, "train.schedule", named(plan, "kind"), "kind")
    listed = raw.get("algorithm", [])
    several = [named(each, "name") for each in (listed if isinstance(listed, list) else [listed])]
    if not several:
        said.add("algorithm", "is missing: a recipe needs an [algorithm] table, or several [[algorithm]]")
    places = [f"algorithm.{label_of(each) or k}" if len(several) > 1 else "algorithm" for k, each in enumerate(several)]
    algorithms = [
        labelled(part(ALGORITHMS, at, each, extra=("label",)), each, said)
        for at, each in zip(places, several, strict=True)
    ]
    made = {
        "share": said.make(DataTable, "data", {"data": _only(data, DataTable)}),
        "start": said.make(WeightsTable, "model", {"model": start}, search),
        "input": said.make(InputTable, "input", raw),
        "tree": said.make(TreeTable, "tree", raw),
        "train": said.make(TrainTable, "train", {"train": _without(raw.get("train", {}), "schedule")}),
        "evaluate": said.make(EvaluateTable, "evaluate", raw),
        "engine": said.make(EngineTable, "engine", raw),
        "delays": _delays(said, raw, search if home is None else (home, *search)),
        "absence": said.make(Absence, "absence", raw),
    }
    made["periods"] = _periods(said, raw, made["tree"])
    parts = [p for p in (source, partition, edges, model, schedule, *algorithms) if p is not None]
    recipe = Recipe(
        name=str(raw.get("name", name)),
        description=str(raw.get("description", "")),
        source=source,
        partition=partition,
        edges=edges,
        model=model,
        schedule=schedule,
        algorithms=tuple(p for p in algorithms if p is not None),
        import_from=tuple(map(str, search)) if any(":" in p.name for p in parts) else (),
        **made,
    )
    check_together(recipe, said)
    said.raise_if_any()
    return recipe


def searched(raw: dict[str, Any], folders: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Where import paths are looked for: the recipe's `import_from`, relative to its own folder, then `folders`."""
    own = raw.get("import_from", [])
    home = Path(*folders[:1])
    return tuple(dict.fromkeys((*(home / folder for folder in (own if _is_texts(own) else ())), *folders)))


def check_together(recipe: Any, said: "Faults") -> None:
    """What can only be seen when tables meet; those with faults of their own are None, and left out."""
    _check_until(recipe, said)
    tree = None if recipe.tree is None else _built(recipe.tree, said)
    if tree is None:
        return
    if not recipe.periods or recipe.train is None:
        pass
    elif len(recipe.periods) != tree.tiers - 1:
        names = "tau and pi" if tree.tiers == 3 else f"a list of {tree.tiers - 1}"
        names = "tau alone" if tree.tiers == 2 else names
        said.add("periods", f"a tree of {tree.tiers} tiers needs {names}, not {list(recipe.periods)}", joint=":")
    else:
        try:
            check_iterations(recipe.train.iterations, recipe.periods)
        except UserError as error:
            said.faults.append(f"train.{error}")
    for key, given in (("data.edges", recipe.edges is not None), ("tree.assign", recipe.tree.assign != "given")):
        if given and tree.tiers == 2:
            said.add(key, "needs edges: this tree has its workers directly under the cloud")
    if recipe.edges is not None and recipe.tree.assign != "given":
        said.add("tree.assign", "would undo data.edges, which says what each edge gets; leave one of them out")
    samples = None if recipe.source is None else getattr(recipe.source.made, "samples", None)
    if samples is not None and tree.n_workers > samples:
        said.add("tree", f"has {tree.n_workers} workers, more than the {samples} samples of data.source")
    _check_clock(recipe, tree, said)
    for part in recipe.algorithms:
        needs = part.made.tiers
        if needs is not None and needs != recipe.placed(part)[0].tiers:
            way = "; set tree.flatten = true" if needs == 2 else ""
            said.add("tree", f"has {tree.tiers} tiers and {part.label} is an algorithm for {needs}{way}")
    labels = [part.label for part in recipe.algorithms]
    for label in sorted({label for label in labels if labels.count(label) > 1}):
        said.add("algorithm", f"two algorithms are called '{label}': give each a label of its own", joint=":")


def _check_clock(recipe: Any, tree: Tree, said: "Faults") -> None:
    delays, absence = recipe.delays or Delays(""), recipe.absence or Absence()
    checks = [partial(delays.check, tree), partial(absence.check, tree)]
    checks += [partial(Clock(delays, absence).check_plan, part.made) for part in recipe.algorithms]
    for check in checks:
        try:
            check()
        except UserError as error:
            if str(error) not in said.faults:  # two algorithms may have the same to say
                said.faults.append(str(error))


def _built(table: TreeTable, said: "Faults") -> Tree | None:
    try:
        return table.build()
    except UserError as error:
        said.faults.append(text if (text := str(error)).startswith("tree") else f"tree: {text}")
    except (MemoryError, OverflowError, ValueError):
        said.add("tree", "has more nodes than fit in memory")
    return None


def _check_until(recipe: Any, said: "Faults") -> None:
    if recipe.train is None or recipe.evaluate is None:
        return
    known = [prefix + name for prefix in ("", "train_") for name in ("loss", "accuracy")]
    known += [f"{m}_{w}_{each}" for each in recipe.evaluate.per for m in known[:2] for w in ("worst", "spread")]
    known.append(SIMULATED)
    for metric in recipe.train.until or {}:
        if metric not in known:
            said.add("train.until", f"there is no metric '{metric}'{suggestion(metric, known)}", joint=":")
        elif metric.startswith("train_") and not recipe.evaluate.train:
            said.add("train.until", f"{metric} is not measured; set evaluate.train = true", joint=":")


def _periods(said: Faults, raw: dict[str, Any], tree: TreeTable | None) -> tuple[int, ...]:
    given = raw.get("periods")
    if given is None and tree is not None:
        return USUAL_PERIODS[:1] if tree.workers is not None else USUAL_PERIODS
    if isinstance(given, list):
        if not given or any(type(p) is not int or p < 1 for p in given):
            said.add("periods", f"must be whole numbers of at least 1, not {given}")
            return ()
        return tuple(given)
    table = said.make(PeriodsTable, "periods", raw)
    return () if table is None else (table.tau,) if table.pi is None else (table.tau, table.pi)


def _delays(said: Faults, raw: dict[str, Any], folders: Sequence[Path]) -> Delays | None:
    if "delays" not in raw:
        return None
    try:
        return parse_delays(raw["delays"], folders)
    except UserError as error:
        said.faults += str(error).splitlines()
        return None


def _without(table: Any, key: str) -> Any:
    return {k: v for k, v in table.items() if k != key} if isinstance(table, dict) else table


def _only(table: Any, kind: type) -> dict[str, Any]:
    """The keys of a table that are those of `kind`; others say the rest."""
    return {key: value for key, value in table.items() if key in options(kind)} if isinstance(table, dict) else {}


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def to_dict(recipe: Recipe) -> dict[str, Any]:
    """The recipe with every default written out, as TOML can say it."""
    tables: dict[str, Any] = {
        "format": FORMAT,
        "name": recipe.name,
        "description": recipe.description,
        "import_from": list(recipe.import_from),
        "data": {
            "source": recipe.source.name,
            **recipe.source.values(),
            "share": None if recipe.share.share == 1 else recipe.share.share,
            "partition": {"kind": recipe.partition.name, **recipe.partition.values()},
            "edges": {"kind": recipe.edges.name, **recipe.edges.values()} if recipe.edges else None,
        },
        "input": asdict(recipe.input),
        "model": {"name": recipe.model.name, **recipe.model.values(), **asdict(recipe.start)},
        "tree": asdict(recipe.tree),
        "periods": list(recipe.periods),
        "train": {
            **asdict(recipe.train),
            "schedule": {"kind": recipe.schedule.name, **recipe.schedule.values()},
        },
        "evaluate": asdict(recipe.evaluate),
        "engine": asdict(recipe.engine),
        "delays": recipe.delays.table if recipe.delays else None,
        "absence": asdict(recipe.absence) if not recipe.absence.nobody else None,
        "algorithm": [{"name": p.name, "label": p.label, **p.values()} for p in recipe.algorithms],
    }
    if len(recipe.periods) <= 2:
        tables["periods"] = dict(zip(("tau", "pi"), recipe.periods, strict=False))
    if len(recipe.algorithms) == 1:
        tables["algorithm"] = tables["algorithm"][0]
    return {key: value for key, value in _plain(tables).items() if value not in ("", [])}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if v is not None}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
