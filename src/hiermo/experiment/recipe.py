"""Recipes: an experiment as a validated, frozen value; TOML in, TOML out.

Nothing here imports torch: a recipe is checked, and its run directory made, before anything heavy is loaded.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from math import prod
from pathlib import Path
from typing import Any
import warnings

from hiermo.algorithms import ALGORITHMS
from hiermo.core.algorithm import Algorithm
from hiermo.core.errors import UserError
from hiermo.core.parameter import faults, options, suggestion
from hiermo.core.plan import Merge, Setting
from hiermo.core.registry import Registry
from hiermo.core.schedule import SCHEDULES
from hiermo.data.partition import PARTITIONS
from hiermo.data.sources import SOURCES
from hiermo.engine.run import check_iterations
from hiermo.experiment.tables import DelaysTable, EngineTable, EvaluateTable, PeriodsTable, TrainTable, TreeTable
from hiermo.models import MODELS
from hiermo.topology.tree import Tree

FORMAT = 1


@dataclass(frozen=True)
class Part:
    """Something that is named and has options of its own: a source, a partition, a model, an algorithm."""

    name: str
    made: Any  # the options, as an instance of its class
    label: str = ""

    def values(self) -> dict[str, Any]:
        known = options(type(self.made))
        return {key: getattr(self.made, key) for key in known}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One experiment: the same tree, data and model for each of its algorithms."""

    name: str
    description: str
    source: Part
    partition: Part
    model: Part
    tree: TreeTable
    periods: tuple[int, ...]
    train: TrainTable
    evaluate: EvaluateTable
    engine: EngineTable
    delays: DelaysTable | None
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

    def cloud_rounds(self, part: Part) -> int:
        """Merges at the cloud in the whole run; an asynchronous algorithm has one per arrival."""
        algorithm, setting = self.bound(part)
        root = len(setting.tree.counts) - 1
        return sum(isinstance(event, Merge) and event.tier == root for event in algorithm.plan(setting))


TABLES = ("data", "model", "tree", "periods", "train", "evaluate", "engine", "delays", "algorithm")
KEYS = ("format", "name", "description", "import_from", *TABLES)


def parse(raw: dict[str, Any], name: str = "", folders: Sequence[Path] = ()) -> Recipe:
    """A recipe out of what TOML gave; every fault is one sentence that names its key."""
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

    def part(
        registry: Registry, at: str, table: Any, key: str = "name", extra: Sequence[str] = ()
    ) -> Any:  # a Part, or None with the faults noted
        return _part(said, registry, at, table, key, search, extra)

    data = raw.get("data", {})
    model = part(MODELS, "model", raw.get("model", {}))
    source = part(SOURCES, "data", data, "source", extra=("partition",))
    by = data.get("partition", "iid") if isinstance(data, dict) else "iid"
    partition = part(PARTITIONS, "data.partition", _named(by, "kind"), "kind")
    train = raw.get("train", {})
    plan = train.get("schedule", "constant") if isinstance(train, dict) else "constant"
    schedule = part(SCHEDULES, "train.schedule", _named(plan, "kind"), "kind")
    listed = raw.get("algorithm", [])
    several = listed if isinstance(listed, list) else [listed]
    if not several:
        said.add("algorithm", "is missing: a recipe needs an [algorithm] table, or several [[algorithm]]")
    places = [f"algorithm.{label_of(each) or k}" if len(several) > 1 else "algorithm" for k, each in enumerate(several)]
    algorithms = [
        _labelled(part(ALGORITHMS, at, each, extra=("label",)), each, said)
        for at, each in zip(places, several, strict=True)
    ]
    made = {
        "tree": said.make(TreeTable, "tree", raw),
        "train": said.make(TrainTable, "train", {"train": _without(raw.get("train", {}), "schedule")}),
        "evaluate": said.make(EvaluateTable, "evaluate", raw),
        "engine": said.make(EngineTable, "engine", raw),
        "delays": said.make(DelaysTable, "delays", raw) if "delays" in raw else None,
        "periods": _periods(said, raw),
    }
    parts = [p for p in (source, partition, model, schedule, *algorithms) if p is not None]
    recipe = Recipe(
        name=str(raw.get("name", name)),
        description=str(raw.get("description", "")),
        source=source,
        partition=partition,
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
    samples = None if recipe.source is None else getattr(recipe.source.made, "samples", None)
    if samples is not None and tree.n_workers > samples:
        said.add("tree", f"has {tree.n_workers} workers, more than the {samples} samples of data.source")
    for part in recipe.algorithms:
        needs = part.made.tiers
        if needs is not None and needs != recipe.placed(part)[0].tiers:
            way = "; set tree.flatten = true" if needs == 2 else ""
            said.add("tree", f"has {tree.tiers} tiers and {part.label} is an algorithm for {needs}{way}")
    labels = [part.label for part in recipe.algorithms]
    for label in sorted({label for label in labels if labels.count(label) > 1}):
        said.add("algorithm", f"two algorithms are called '{label}': give each a label of its own", joint=":")


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
    for metric in recipe.train.until or {}:
        if metric not in known:
            said.add("train.until", f"there is no metric '{metric}'{suggestion(metric, known)}", joint=":")
        elif metric.startswith("train_") and not recipe.evaluate.train:
            said.add("train.until", f"{metric} is not measured; set evaluate.train = true", joint=":")


class Faults:
    """Collects what is wrong, so that a user sees all of it at once."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def add(self, key: str, what: str, joint: str = "") -> None:
        self.faults.append(f"{key}{joint} {what}")

    def table(self, key: str, value: Any) -> dict[str, Any] | None:
        """The value, or None with the fault noted."""
        if isinstance(value, dict):
            return value
        self.add(key, f"must be a table, not {value!r}")
        return None

    def make(self, kind: Any, key: str, raw: dict[str, Any]) -> Any:
        """The table as a `kind`, or None with the faults noted."""
        values = self.table(key, raw.get(key, {}))
        if values is None:
            return None
        wrong = faults(kind, values)
        for name, what in wrong:
            in_recipe = what.replace(f"a parameter of {kind.__name__}", f"a key of [{key}]")
            self.add(f"{key}.{name}", in_recipe.replace(f": {kind.__name__} needs it", ""))
        return None if wrong else kind(**{name: _frozen(value) for name, value in values.items()})

    def raise_if_any(self) -> None:
        if self.faults:
            raise UserError("\n".join(self.faults))


def _part(
    said: Faults, registry: Registry, at: str, table: Any, key: str, search: tuple[Path, ...], extra: Sequence[str]
) -> Any:
    values = said.table(at, table)
    if values is None:
        return None
    if key not in values:
        said.add(f"{at}.{key}", f"is missing: name one of {', '.join(registry.names())}")
        return None
    name = values[key]
    try:
        kind = registry.get(str(name), search)
    except UserError as error:
        said.add(f"{at}.{key}", str(error), joint=":")
        return None
    if not (isinstance(kind, type) and is_dataclass(kind)):
        said.add(f"{at}.{key}", f"{name} is not a dataclass, as every {registry.kind} is", joint=":")
        return None
    if registry is ALGORITHMS and not issubclass(kind, Algorithm):
        said.add(f"{at}.{key}", f"{name} is not a hiermo.Algorithm", joint=":")
        return None
    own = {k: v for k, v in values.items() if k != key and k not in extra}
    wrong, known = faults(kind, own), (*options(kind), key, *extra)
    for option, what in wrong:
        unknown = f"is not a parameter of {kind.__name__}{suggestion(option, known)}"
        said.add(f"{at}.{option}", what if option in known else unknown)
    return None if wrong else Part(str(name), kind(**{k: _frozen(v) for k, v in own.items()}))


def _labelled(part: Part | None, table: Any, said: Faults) -> Any:
    if part is None:
        return None
    label = label_of(table)
    unfit = not label or label.startswith(".") or not label.isprintable() or any(c in '/\\:*?"<>|' for c in label)
    if unfit or not isinstance(table.get("label", ""), str):
        said.add("algorithm.label", f"must be usable as the name of a folder, not {table.get('label')!r}")
    return replace(part, label=label)


def label_of(table: Any) -> str:
    """What an algorithm is called in its recipe: its label, or else its name."""
    if not isinstance(table, dict):
        return str(table)
    return str(table.get("label", str(table.get("name", "")).rpartition(":")[2]))


def _named(value: Any, key: str) -> Any:
    """`partition = "iid"` is short for `partition = { kind = "iid" }`."""
    return {key: value} if isinstance(value, str) else value


def _periods(said: Faults, raw: dict[str, Any]) -> tuple[int, ...]:
    given = raw.get("periods")
    if isinstance(given, list):
        if not given or any(type(p) is not int or p < 1 for p in given):
            said.add("periods", f"must be whole numbers of at least 1, not {given}")
            return ()
        return tuple(given)
    table = said.make(PeriodsTable, "periods", raw)
    return () if table is None else (table.tau,) if table.pi is None else (table.tau, table.pi)


def _without(table: Any, key: str) -> Any:
    return {k: v for k, v in table.items() if k != key} if isinstance(table, dict) else table


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


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
            "partition": {"kind": recipe.partition.name, **recipe.partition.values()},
        },
        "model": {"name": recipe.model.name, **recipe.model.values()},
        "tree": asdict(recipe.tree),
        "periods": list(recipe.periods),
        "train": {
            **asdict(recipe.train),
            "schedule": {"kind": recipe.schedule.name, **recipe.schedule.values()},
        },
        "evaluate": asdict(recipe.evaluate),
        "engine": asdict(recipe.engine),
        "delays": asdict(recipe.delays) if recipe.delays else None,
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
