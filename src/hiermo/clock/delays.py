"""Delays: how long iterations, merges and messages take, as a recipe's `[delays]`, a file or a built-in profile says.

The letters of the paper are per tier: theta_w, theta_e, theta_c (an iteration, a merge at an edge, at the cloud) and
phi_w2e, phi_e2c, phi_w2c (a message there and back). A `device` is a class of nodes, or one node, with its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
import tomllib
from typing import Any, NamedTuple

from hiermo.clock.nodes import WAYS, Nodes, named_nodes
from hiermo.clock.sources import Constant, scaled
from hiermo.clock.traces import LETTERS, read_trace
from hiermo.clock.values import Speed, Way, parse_link, parse_source
from hiermo.core.errors import UserError
from hiermo.core.parameter import suggestion
from hiermo.topology.tree import Tree

PAPER = "paper"  # the profile that is used where nothing else is said
DEVICE_KEYS = ("name", "nodes", "compute", "link", "cloud_link")
KEYS = ("name", "description", "profile", "trace", "sha256", *LETTERS, "device")


class Rule(NamedTuple):
    """What some nodes take for something; a later rule goes before an earlier one."""

    nodes: Nodes
    role: str  # compute, up, down, cloud-up or cloud-down; a link is that of its lower end
    value: Any  # a Source or a Speed for computing, a Way for messages


@dataclass(frozen=True)
class Delays:
    """What was said, and what it means for any tree.

    >>> delays = parse_delays({"theta_w": 0.1, "phi_w2e": {"kind": "lognormal", "mean": 0.5, "cv": 0.3}})
    >>> delays.of("worker", "compute"), delays.of("edge", "compute")
    (Constant(seconds=0.1), Constant(seconds=0.0))
    """

    name: str
    table: dict[str, Any] = field(default_factory=dict)  # as a recipe says it
    rules: tuple[Rule, ...] = ()
    missing: tuple[str, ...] = ()  # letters of which a trace has no samples: they count as 0
    file: Path | None = field(default=None, compare=False)  # the trace, where it was found

    @staticmethod
    def load(name: str) -> "Delays":
        """A built-in profile by name, or a file: TOML, or a trace in CSV or Parquet."""
        return load_delays(name)

    @staticmethod
    def of_table(table: dict[str, Any]) -> "Delays":
        """As a recipe's `[delays]` says it."""
        return parse_delays(table, name="a table")

    def of(self, tier: str, role: str) -> Any:
        """What all nodes of a tier have in common."""
        found = [rule.value for rule in self.rules if rule.nodes == Nodes(tier) and rule.role == role]
        return found[-1] if found else Constant(0.0) if role == "compute" else Way()

    def with_file(self, name: str) -> "Delays":
        """The same, whose trace is called so."""
        return replace(self, table={**self.table, "trace": name})

    def __str__(self) -> str:
        lacks = f" (no samples of {', '.join(self.missing)}: taken for 0 s)" if self.missing else ""
        return self.name + lacks

    def at_means(self) -> "Delays":
        """The same with every delay at its mean."""

        def mean(value: Any) -> Any:
            if isinstance(value, Speed):
                return replace(value, cv=0.0)
            if isinstance(value, Way):
                return value._replace(latency=Constant(value.latency.mean), per_byte=Constant(value.per_byte.mean))
            return Constant(value.mean)

        rules = tuple(rule._replace(value=mean(rule.value)) for rule in self.rules)
        return replace(self, name=f"{self.name}, at its means", rules=rules)

    def check(self, tree: Tree) -> None:
        """Refuses nodes that the tree does not have."""
        for rule in self.rules:
            rule.nodes.check(tree, "delays")


def parse_delays(raw: Any, folders: Sequence[Path] = (), name: str = "the recipe's [delays]") -> Delays:
    """A table as TOML gives it; every fault is one sentence that names its key. Files are looked for in `folders`."""
    if not isinstance(raw, dict):
        raise UserError(f"delays must be a table, not {raw!r}")
    faults = [f"delays.{key} is not a key of [delays]{suggestion(key, KEYS)}" for key in raw if key not in KEYS]
    for key in ("name", "description", "profile", "trace", "sha256"):
        if not isinstance(raw.get(key, ""), str):
            faults.append(f"delays.{key} must be a text, not {raw[key]!r}")
    table: dict[str, Any] = dict(raw)
    path: Path | None = None
    rules: list[Rule] = []
    if "profile" in raw:
        rules += _caught(faults, lambda: profile(str(raw["profile"])).rules)
    if "sha256" in raw and "trace" not in raw:
        faults.append("delays.sha256 goes with delays.trace")
    devices = _devices(raw.get("device", []), faults)
    if isinstance(raw.get("trace"), str):
        try:
            path = _located(raw["trace"], folders)
            table["sha256"] = _fingerprint(path, raw.get("sha256"))
            rules += _of_trace(path, devices)
        except UserError as error:
            faults.append(str(error))
    for letter, (tier, kind) in LETTERS.items():
        if letter in raw:
            rules += _caught(faults, _rules, Nodes(tier), kind, raw[letter], f"delays.{letter}")
    rules += _of_devices(devices, faults)
    if faults:
        raise UserError("\n".join(faults))
    missing = _missing(rules) if "trace" in raw and "profile" not in raw else ()
    of_profile = f", with {profile(str(raw['profile'])).name}" if "profile" in raw else ""
    return Delays(str(raw.get("name", name + of_profile)), table, tuple(rules), missing, path)


def load_delays(name: str) -> Delays:
    """A built-in profile by name, or a file: TOML, or a trace in CSV or Parquet."""
    path = _file(Path(name))
    if name in profiles() and path is None:
        return replace(profile(name), table={"profile": name, "name": profile(name).name})
    if path is None:
        raise UserError(f"--delays {name}: there is no such file, nor a built-in profile{suggestion(name, profiles())}")
    if path.suffix.lower() != ".toml":
        return parse_delays({"name": path.name, "trace": str(path.resolve())})
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    except ValueError as error:  # also a number of more digits than Python reads
        raise UserError(f"{path}: not valid TOML: {error}") from None
    table = raw.get("delays", raw)
    try:
        return parse_delays(
            {"name": path.name, **table} if isinstance(table, dict) else table, (path.resolve().parent,)
        )
    except UserError as error:
        raise UserError("\n".join(f"{path}: {line}" for line in str(error).splitlines())) from None


def profiles() -> dict[str, str]:
    """The built-in ones: name -> what it is."""
    return {name: str(table.get("description", "")) for name, table in _profiles().items()}


def profile(name: str) -> Delays:
    found = _profiles().get(name)
    if found is None:
        raise UserError(f"delays.profile: there is no profile '{name}'{suggestion(name, _profiles())}")
    table = {key: value for key, value in found.items() if key != "description"}
    return parse_delays(table, name=f"the built-in profile '{name}', estimates")


def _profiles() -> dict[str, dict[str, Any]]:
    folder = Path(str(files("hiermo"))) / "clock" / "profiles"
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))}


def _rules(nodes: Nodes, kind: str, value: Any, at: str) -> list[Rule]:
    if kind == "compute":
        return [Rule(nodes, "compute", parse_source(value, at, speed=True))]
    up, down = parse_link(value, at)
    direct = "cloud-" if kind.startswith("cloud") else ""
    return [Rule(nodes, f"{direct}up", up), Rule(nodes, f"{direct}down", down)]


def _caught(faults: list[str], make: Any, *words: Any) -> Any:
    try:
        return make(*words)
    except UserError as error:
        faults.append(str(error))
        return []


def _devices(listed: Any, faults: list[str]) -> list[dict[str, Any]]:
    """As they are said, but for names and nodes that are none."""
    found: list[dict[str, Any]] = []
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        faults.append("delays.device must be tables, each as [[delays.device]]")
        return []
    for k, said in enumerate(listed):
        device = dict(said)
        if not isinstance(device.get("name", ""), str):
            faults.append(f"delays.device.{k}.name must be a text, not {device.pop('name')!r}")
        at = _called(device, k)
        faults += [
            f"{at}.{key} is not a key of a device{suggestion(key, DEVICE_KEYS)}"
            for key in device
            if key not in DEVICE_KEYS
        ]
        nodes = device.get("nodes", [])
        if not isinstance(nodes, list) or not all(isinstance(each, str) and named_nodes(each) for each in nodes):
            faults.append(f"{at}.nodes: {WAYS}, in a list, not {device.pop('nodes')!r}")
        found.append(device)
    return found


def _called(device: dict[str, Any], k: int) -> str:
    return f"delays.device.{device.get('name', k)}"


def _of_devices(devices: Sequence[dict[str, Any]], faults: list[str]) -> list[Rule]:
    """Classes with `nodes` have those; the others take turns among the workers."""
    found = []
    for device, (k, nodes) in zip(devices, _places(devices), strict=True):
        for key, kind in (("compute", "compute"), ("link", "both"), ("cloud_link", "cloud-both")):
            for place in nodes if key in device else ():
                found += _caught(faults, _rules, place, kind, device[key], f"{_called(device, k)}.{key}")
    return sorted(found, key=_narrowness)


def _places(devices: Sequence[dict[str, Any]]) -> Iterable[tuple[int, list[Nodes]]]:
    turns = [k for k, device in enumerate(devices) if not device.get("nodes")]
    for k, device in enumerate(devices):
        if k in turns:
            yield k, [Nodes("worker", every=len(turns), offset=turns.index(k))]
        else:
            yield k, [nodes for each in device["nodes"] if (nodes := named_nodes(each)) is not None]


def _of_trace(path: Path, devices: Sequence[dict[str, Any]]) -> list[Rule]:
    trace = read_trace(path)
    labels = dict.fromkeys(node for node, _ in trace)
    known = {
        device["name"]: nodes for device, (_, nodes) in zip(devices, _places(devices), strict=True) if "name" in device
    }
    classes = [label for label in labels if named_nodes(label) is None and label not in known]
    for label in classes:
        if near := get_close_matches(label.lower().split()[0], ("worker", "workers", "edge", "edges", "cloud"), n=1):
            raise UserError(
                f"{path}: '{label}' is no node; did you mean '{near[0]}'? {WAYS}; or name a class otherwise"
            )
    for k, label in enumerate(classes):  # classes that nobody placed take turns among the workers
        known[label] = [Nodes("worker", every=len(classes), offset=k)]
    found = []
    for (label, kind), measured in trace.items():
        single = named_nodes(label)
        for nodes in known[label] if single is None else [single]:
            found += _measured_rules(nodes, kind, measured)
    return sorted(found, key=_narrowness)


def _narrowness(rule: Rule) -> tuple[bool, bool, int]:
    """What is said of one node goes before what is said of some, and that before what is said of all."""
    first, last = rule.nodes.first, rule.nodes.last
    return first is not None, rule.nodes.every > 1, (first or 0) - (last or 0)


def _measured_rules(nodes: Nodes, kind: str, measured: Any) -> list[Rule]:
    if kind == "compute":
        return [Rule(nodes, kind, measured.latency)]
    direct = "cloud-" if kind.startswith("cloud-") else ""
    way = Way(measured.latency, measured.per_byte)
    if kind.endswith("both"):
        half = Way(scaled(way.latency, 0.5), scaled(way.per_byte, 0.5))
        return [Rule(nodes, f"{direct}up", half), Rule(nodes, f"{direct}down", half)]
    return [Rule(nodes, kind, way)]


def _missing(rules: Sequence[Rule]) -> tuple[str, ...]:
    """Letters that neither the trace nor the table beside it speaks of; phi_w2c can be had from the other two."""
    had = {(str(rule.nodes.tier), rule.role) for rule in rules}
    found = []
    for letter, (tier, kind) in LETTERS.items():
        ways = [kind] if kind == "compute" else ["up", "down"]
        lacks = [way for way in ways if (tier, way) not in had]
        if lacks and letter != "phi_w2c":
            found.append(letter if lacks == ways else f"{letter} ({lacks[0]})")
    return tuple(found)


def _located(name: str, folders: Sequence[Path]) -> Path:
    for folder in (*folders, Path()):
        if (found := _file(folder / name)) is not None:
            return found.resolve()
    raise UserError(f"delays.trace: there is no file {name}")


def _file(path: Path) -> Path | None:
    try:
        found = path.expanduser()
        return found if found.is_file() else None
    except (OSError, RuntimeError):  # a name that is too long, the home of nobody
        return None


def _fingerprint(path: Path, expected: Any) -> str:
    try:
        found = sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"delays.trace: {path} cannot be read: {error}") from None
    if expected is not None and expected != found:
        raise UserError(f"delays.trace: {path} has changed since delays.sha256 was written; a run goes on with its own")
    return found
