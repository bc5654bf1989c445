"""The page on the keys of a recipe, from the classes that read them."""

from collections.abc import Iterator
from dataclasses import MISSING, fields
import inspect
import re
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from site_pages.cells import cell, code

from hiermo.clock.absence import Absence
from hiermo.clock.delays import KEYS as DELAY_KEYS
from hiermo.clock.values import KINDS, LinkTable
from hiermo.core.parameter import FromRecipe, Range, options
from hiermo.core.registry import Registry
from hiermo.core.schedule import SCHEDULES
from hiermo.data.partition import PARTITIONS
from hiermo.data.sources import SOURCES
from hiermo.experiment import tables
from hiermo.experiment.recipe import TABLES
from hiermo.models import MODELS

HEAD = """# Recipe

Made by `python docs/make_reference_pages.py` out of the classes that read a recipe. A recipe is a TOML file; `hiermo
init` writes one with comments, `-s KEY=VALUE` changes a key for one run, as in `-s periods.tau=20`. A key that is not
known is refused, with the name that is nearest. Paths are relative to the recipe.

Whole, and short:

```toml
data = "mnist-5k"
model = "logistic"
tree = { edges = 2, workers_per_edge = 2 }
train = { iterations = 400 }
algorithm = "HierMo"
```

## The top

| key | type | meaning |
|---|---|---|
| `format` | `1` | version of this format |
| `name` | text | begins the name of the run directory; else the name of the file |
| `description` | text | for people |
| `extends` | text | another recipe, shipped or a file, of which this one says only what differs |
| `import_from` | list of paths | folders in which import paths (`my_file:Net`) are looked for too |

Of the recipe that is extended, tables are taken over key by key; a list, a `[tree]`, or a table that names another kind
of model or partition takes the place of the one before. A file beside this one goes before a shipped recipe.
"""
DATA = """## data

`source` names the data set, `partition` the rule by which it is divided among the workers ("iid" where it is left out),
and `edges` a rule that divides it among the edges first. `data = "mnist"` is short for `data = { source = "mnist" }`; a
rule without options is its name, one with options a table with its name as `kind`. [How data is divided](non-iid.md),
[your own data](own-data.md). And:
"""
SOURCE = "### Sources\n"
PARTITION = "### Rules of `data.partition` and `data.edges`\n"
MODEL = """## model

`name` names the model; `model = "cnn"` is short for `model = { name = "cnn" }`. [More on models](models.md). Besides
its own options, each takes:
"""
PERIODS = """On trees of more than three tiers, `periods` is a list with a number for each aggregating tier, lowest
first. Left out, it is 10 and 2.
"""
SCHEDULE = (
    '### Kinds of `train.schedule`\n\nThe step size eta times a factor; `schedule = "constant"` where it is left out.\n'
)
DELAYS = """## delays

Letters of the paper, in seconds, each a number, a distribution, or (the phi) a link. [More on time](clock.md).

| key | meaning |
|---|---|
{letters}

Kinds of a distribution, `{{ kind = "lognormal", mean = 0.2, cv = 0.3 }}`:

| kind | keys |
|---|---|
{kinds}

Keys of a link:
"""
LETTERS = {
    "name": "of the delays, for the output",
    "description": "for people",
    "profile": "a built-in profile, which the other keys change",
    "trace": "a file of measured samples, CSV or Parquet",
    "sha256": "of the trace; a run directory writes it",
    "theta_w": "an iteration of a worker",
    "theta_e": "a merge at an edge, and at every tier between edges and cloud",
    "theta_c": "a merge at the cloud",
    "phi_w2e": "worker and edge: a message up plus one down",
    "phi_e2c": "edge and cloud",
    "phi_w2c": "worker and cloud, for algorithms without edges",
    "device": "tables with `name`, `nodes`, `compute`, `link`, `cloud_link`: a class of devices, or single nodes",
}
MEANINGS = {  # of what needs no comment in the code
    ("tree", "edges"): "how many; goes with workers_per_edge",
    ("tree", "workers_per_edge"): "for all edges, or one number for each",
    ("periods", "tau"): "iterations between two merges at the edges",
    ("periods", "pi"): "merges at the edges between two at the cloud; left out on two tiers",
    ("train", "iterations"): "local steps of each worker; a multiple of the product of the periods",
    ("train", "batch"): "samples of a worker in an iteration",
    ("train", "seed"): "all that is random is a function of it",
    ("evaluate", "batch"): "samples at a time; changes no result",
    ("engine", "name"): "all nodes of a tier at once, or one by one to debug an algorithm",
    ("engine", "device"): '"cuda" where there is one',
    ("engine", "dtype"): "of models and momenta",
    ("link", "bandwidth"): "bytes per second, both ways",
    ("link", "up_bandwidth"): "towards the cloud",
    ("link", "down_bandwidth"): "towards the workers",
    ("link", "down_s"): "likewise",
}
ALGORITHM = """## algorithm

`name` names an algorithm, `label` is what tables and pictures call it; all other keys are its parameters, which stand
on the page of each [algorithm](algorithms/README.md). Several `[[algorithm]]` tables are trained one after the other on
the same data. `algorithm = "HierMo"` is short for `algorithm = { name = "HierMo" }`.
"""


def recipe_page() -> str:
    parts = [
        HEAD,
        DATA,
        *_table(tables.DataTable, "data"),
        SOURCE,
        *_registry(SOURCES),
        PARTITION,
        *_registry(PARTITIONS),
        *_fixed("input", tables.InputTable),
        MODEL,
        *_table(tables.WeightsTable, "model"),
        *_registry(MODELS),
        *_fixed("tree", tables.TreeTable),
        *_fixed("periods", tables.PeriodsTable),
        PERIODS,
        *_fixed("train", tables.TrainTable),
        SCHEDULE,
        *_registry(SCHEDULES),
        *_fixed("evaluate", tables.EvaluateTable),
        *_fixed("engine", tables.EngineTable),
        *_delays(),
        *_fixed("absence", Absence),
        ALGORITHM,
    ]
    described = set(re.findall(r"^## (\w+)$", "\n".join(parts), flags=re.MULTILINE))
    for name in TABLES:
        if name not in described:  # added since: called as its class is
            parts += _fixed(name, getattr(tables, f"{name.title()}Table"))
    return "\n".join(parts)


def _fixed(name: str, kind: Any) -> Iterator[str]:
    about = _about(kind).removeprefix(f"`[{name}]`").lstrip(": .")
    yield f"## {name}\n"
    if about:
        yield f"{about[0].upper()}{about[1:]}\n"
    yield from _table(kind, name)


def _registry(registry: Registry) -> Iterator[str]:
    for name in registry.builtin:
        kind = registry.get(name)
        yield f'**`"{name}"`**: {kind.summary}. {_about(kind)}\n'
        if options(kind):
            yield from _table(kind, "")


def _table(kind: Any, place: str) -> Iterator[str]:
    hints, said = options(kind), _comments(kind)
    told = {name: said.get(name) or MEANINGS.get((place, name), "") for name in hints}
    meanings = told if any(told.values()) else {}  # else the text above says it
    yield "| key | type | default |" + " meaning |" * bool(meanings)
    yield "|---|---|---|" + "---|" * bool(meanings)
    for field in fields(kind):
        if field.name in hints:
            row = f"| `{field.name}` | {cell(words(hints[field.name]))} | {_default(field)} |"
            yield row + (f" {cell(meanings[field.name])} |" if meanings else "")
    yield ""


def _delays() -> Iterator[str]:
    kinds = [f"| `{name}` | {', '.join(f'`{key}`' for key in options(kind))} |" for name, kind in KINDS.items()]
    letters = [f"| `{key}` | {LETTERS[key]} |" for key in DELAY_KEYS]
    yield DELAYS.format(letters="\n".join(letters), kinds="\n".join(kinds))
    yield from _table(LinkTable, "link")


def words(hint: Any) -> str:
    """A type in words."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [str(each) for each in inside[1:] if isinstance(each, Range)]
        is_path = any(isinstance(each, FromRecipe) for each in inside[1:])
        return "path" if is_path else ", ".join([words(inside[0]), *bounds]).replace(", inf)", ", ∞)")
    if origin is Literal:
        return ", ".join(f'`"{each}"`' if isinstance(each, str) else f"`{each}`" for each in inside)
    if origin in (Union, UnionType):
        return ", or ".join(words(each) for each in inside if each is not NoneType)
    if origin is tuple:
        return f"list: {words(inside[0])}" if get_args(inside[0]) else f"list of {PLURALS[inside[0]]}"
    if origin is dict:
        return "table of numbers"
    return NAMES[hint]


NAMES = {int: "whole number", float: "number", bool: "true or false", str: "text", Any: "number or table"}
PLURALS = {int: "whole numbers", str: "texts", Any: "tables"}


def _default(field: Any) -> str:
    if field.default is MISSING:
        return "needed"
    if field.default is None:
        return ""
    value = field.default
    if isinstance(value, tuple):
        return code(f"[{', '.join(map(_toml, value))}]")
    return code(_toml(value))


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def _about(kind: Any) -> str:
    """The docstring without its examples."""
    paragraphs = (inspect.getdoc(kind) or "").split("\n\n")
    return " ".join(" ".join(each.split()) for each in paragraphs if not each.startswith(">>>"))


def _comments(kind: Any) -> dict[str, str]:
    """What stands behind each field in the source of the class and of those that it extends."""
    sources = [inspect.getsource(each) for each in reversed(kind.__mro__) if each is not object]
    return dict(pair for text in sources for pair in re.findall(r"^    (\w+): .*?  # (.*)$", text, flags=re.MULTILINE))
