"""Measured delays: a table of samples in a CSV or Parquet file, with the columns node, kind, seconds and maybe bytes.

node     `worker`, `edge` or `cloud`: all of them; `worker 3`, `edge 1`: one; any other name: a class of devices
kind     compute: an iteration of a worker, a merge of an edge or of the cloud;
         up, down: a message to the parent, from the parent; both: there and back;
         cloud-up, cloud-down, cloud-both: the same between a worker and the cloud, for algorithms without edges;
         or one of the paper's letters: theta_w, theta_e, theta_c, phi_w2e, phi_e2c, phi_w2c
bytes    the size of the message: its time is then taken to be a latency plus bytes over bandwidth
"""

from collections.abc import Iterator, Sequence
import csv
from math import isfinite, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hiermo.clock.nodes import named_nodes
from hiermo.clock.sources import Constant, Samples
from hiermo.core.errors import UserError
from hiermo.core.parameter import suggestion

KINDS = ("compute", "up", "down", "both", "cloud-up", "cloud-down", "cloud-both")
LETTERS = {
    "theta_w": ("worker", "compute"),
    "theta_e": ("edge", "compute"),
    "theta_c": ("cloud", "compute"),
    "phi_w2e": ("worker", "both"),
    "phi_e2c": ("edge", "both"),
    "phi_w2c": ("worker", "cloud-both"),
}
ALIKE = {
    "computation": "compute", "step": "compute", "iteration": "compute", "merge": "compute", "aggregate": "compute",
    "upload": "up", "uplink": "up", "download": "down", "downlink": "down", "link": "both", "round-trip": "both",
    "communication": "both", "transfer": "both", "cloud-link": "cloud-both",
}  # fmt: skip
OWNERS = {"worker": "a worker", "edge": "an edge", "cloud": "the cloud"}
COLUMNS = ("node", "kind", "seconds", "bytes")
PARQUET = (".parquet", ".pq")


class Measured(NamedTuple):
    """The samples of one node and kind: a latency in seconds, and seconds per byte where sizes are known."""

    latency: Any
    per_byte: Any = Constant(0.0)


Trace = dict[tuple[str, str], Measured]  # by node and kind, in the order of the file


def read_trace(path: Path) -> Trace:
    """Refuses, with the row, what is not a sample."""
    samples: dict[tuple[str, str], list[tuple[float, float | None]]] = {}
    for row, line in _rows(path):
        at = f"{path}: row {row}"
        node, kind = _text(line.get("node")), _text(line.get("kind")).lower().replace(" ", "-")
        if (letter := kind.replace("-", "_")) in LETTERS:
            whole, kind = LETTERS[letter]
            node = whole if not node or node == "*" else f"{whole} {node}" if node.isdecimal() else node
            single = named_nodes(node)  # None: a class of devices, which are workers where nothing else is said
            if ("worker" if single is None else single.tier) in OWNERS.keys() - {whole}:
                raise UserError(f"{at}: {letter} is a delay of {OWNERS[whole]}, not of {_shown(node)!r}")
        kind = ALIKE.get(kind, kind)
        if kind not in KINDS:
            raise UserError(f"{at}: there is no kind {_shown(kind)!r}{suggestion(kind, (*KINDS, *LETTERS))}")
        if not node:
            raise UserError(f"{at}: the node is missing: name a worker, an edge, the cloud or a class of devices")
        seconds = _number(at, "seconds", line.get("seconds"))
        size = line.get("bytes")
        given = None if size is None or size == "" else _number(at, "bytes", size)
        samples.setdefault((node, kind), []).append((seconds, None if kind == "compute" else given))
    if not samples:
        raise UserError(f"{path}: there is no sample in it")
    return {(node, kind): _measured(f"{path}: {node}, {kind}", found) for (node, kind), found in samples.items()}


def _measured(at: str, samples: list[tuple[float, float | None]]) -> Measured:
    seconds = np.array([each for each, _ in samples])
    if all(size is None for _, size in samples):
        return Measured(Samples(seconds))
    if any(size is None for _, size in samples):
        raise UserError(f"{at}: some samples have bytes and others have none")
    sizes = np.array([size for _, size in samples], float)
    small, large = sizes.min(), sizes.max()
    if large == 0:
        return Measured(Samples(seconds))
    # the latency: of the smallest messages, less what their bytes take at the pace of the largest
    quick, slow = float(np.median(seconds[sizes == small])), float(np.median(seconds[sizes == large]))
    latency = max(0.0, (quick * large - slow * small) / (large - small)) if large > small else 0.0
    long = sizes == large
    latency = min(latency, float(seconds[long].min()))
    return Measured(Constant(latency), Samples((seconds[long] - latency) / large))


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number of the row as an editor shows it, its values by column)."""
    try:
        yield from _parquet(path) if path.suffix.lower() in PARQUET else _csv(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def _csv(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file, skipinitialspace=True)
        reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
        _check_columns(path, reader.fieldnames)
        for line in reader:
            if line.get(None):  # as where a comma stands for a decimal point
                more = f"more values than columns: {', '.join(reader.fieldnames)}"
                raise UserError(f"{path}: row {reader.line_num}: there are {more}")
            if any(line.get(name) for name in COLUMNS):
                yield reader.line_num, line


def _parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise UserError(f"{path}: Parquet needs pyarrow; pip install 'hiermo[parquet]', or write CSV") from None
    try:
        table = parquet.read_table(path)
    except ArrowException as error:  # which says more than one line of it
        raise UserError(f"{path}: cannot be read: {_shown(str(error).partition(chr(10))[0])}") from None
    _check_columns(path, table.column_names)
    known = [name for name in COLUMNS if name in table.column_names]
    yield from enumerate(table.select(known).to_pylist(), start=1)


def _check_columns(path: Path, names: Sequence[str]) -> None:
    if any(name not in names for name in COLUMNS[:3]) or any(names.count(name) > 1 for name in COLUMNS):
        found = _shown(", ".join(map(str, names))) or "none"
        raise UserError(f"{path}: a trace has the columns node, kind, seconds and maybe bytes, once; it has {found}")


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _shown(text: str) -> str:
    """In a sentence: what is no text at all is long, and has signs that no terminal should get."""
    plain = "".join(sign if sign.isprintable() else "?" for sign in text)
    return plain if len(plain) <= 80 else f"{plain[:80]}..."


def _number(at: str, name: str, text: Any) -> float:
    try:
        value = nan if isinstance(text, bool) else float(text)
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"{at}: {name} must be a number, not {text!r}") from None
    if not isfinite(value) or value < 0:
        raise UserError(f"{at}: {name} must be a number of at least 0, not {text}")
    return value
