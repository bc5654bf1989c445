"""`hiermo measure`."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hiermo.cli.arguments import AsJson, Settings

if TYPE_CHECKING:
    from rich.table import Table

    from hiermo.clock.transfer import Address
    from hiermo.experiment.measure import Bench, Sample
    from hiermo.experiment.recipe import Recipe

UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


class Role(StrEnum):
    worker = "worker"
    edge = "edge"
    cloud = "cloud"


class Link(NamedTuple):
    """The way to the parent."""

    place: "Address"
    token: str
    direct: bool


def measure(
    recipe: Annotated[
        str | None,
        typer.Argument(metavar="RECIPE", help="A recipe file, or a shipped one by name; not with --serve."),
    ] = None,
    settings: Settings = None,
    role: Annotated[
        Role | None, typer.Option("--as", help="Measure this machine as one of these; without it, as all three.")
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Call it so in the trace: a node as 'worker 3', or a class as 'phone'."),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="How many of each kind, after a warm-up.")] = 30,
    peer: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Also time messages to and from `hiermo measure --serve` there."),
    ] = None,
    token: Annotated[
        str | None, typer.Option(help="What --serve printed; with --serve, use this one instead of a random one.")
    ] = None,
    direct: Annotated[
        bool, typer.Option("--direct", help="The peer is the cloud, to which a worker talks without an edge.")
    ] = False,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The trace: FILE.csv or FILE.parquet.")] = Path("trace.csv"),
    append: Annotated[bool, typer.Option("--append", help="Add to the trace, as of another machine.")] = False,
    serve: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Be the other end, until Ctrl-C; port 0 takes a free one. Only this machine can reach it, unless HOST "
            "is 0.0.0.0 or another address of this machine.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how long iterations, merges and messages take here, and write a trace for `hiermo run --delays`.

    Timed are one local iteration of the recipe's first algorithm, its merges at an edge and at the cloud, and with
    --peer messages of the size that it sends.
    """
    from hiermo.core.errors import UserError

    if serve is not None:
        given = {
            "RECIPE": recipe, "-s": settings, "--as": role, "--node": node, "--peer": peer, "--direct": direct,
            "--append": append, "--json": as_json,
        }  # fmt: skip
        if wrong := [name for name, value in given.items() if value]:
            raise UserError(f"--serve does nothing but answer: leave out {' and '.join(wrong)}")
        be_the_other_end(serve, token)
        return
    if recipe is None:
        raise UserError("name a RECIPE, as in `hiermo measure quick/digits`, or be the other end with --serve PORT")
    check_options(role, node, peer, token, direct)

    from hiermo.clock.transfer import Client, address
    from hiermo.experiment import recipe_file
    from hiermo.experiment.measure import check_target, roles_of, write_trace

    link = None if peer is None else Link(address(peer, "--peer"), token or "", direct)
    chosen = recipe_file.load(recipe, settings or (), None)
    roles = roles_of(chosen, role)
    check_target(out, append)
    if link is not None:
        Client(link.place, link.token).close()  # a wrong token is told before anything takes time
    found, notes = take(chosen, roles, node, samples, link)
    write_trace(out, found, append)
    show(chosen, found, notes, out, [recipe, *(word for each in settings or () for word in ("-s", each))], as_json)


def check_options(role: Role | None, node: str | None, peer: str | None, token: str | None, direct: bool) -> None:
    """Refuses options that do not go together, and names that a trace cannot hold."""
    import re

    from hiermo.core.errors import UserError

    if peer is None and (token is not None or direct):
        raise UserError(f"{'--direct' if direct else '--token'} goes with --peer HOST:PORT")
    if peer is not None:
        if not token:
            raise UserError("--peer needs the --token that `hiermo measure --serve` printed at the other end")
        if role is Role.cloud:
            raise UserError("--as cloud: the cloud has no parent to send to; leave out --peer")
        if direct and role is Role.edge:
            raise UserError("--direct is about a worker without an edge; leave it out with --as edge")
    if node is None:
        return
    if role is None:
        raise UserError("--node names one node or class: say with --as worker, edge or cloud what it does")
    if not node.strip() or node != node.strip() or not node.isprintable() or any(mark in node for mark in ",\"'`"):
        raise UserError(f"--node {node!r}: must be a name such as 'worker 3' or 'phone', without commas and quotes")
    means = re.match(r"(worker|edge|cloud)s?(?:[ _/-]*\d|$)", node.lower())
    if means and means[1] != role:
        raise UserError(f"--node {node!r} is not --as {role}: name a {role}, or a class of devices")


def take(
    recipe: "Recipe", roles: Sequence[str], node: str | None, wanted: int, link: Link | None
) -> tuple[list["Sample"], list[str]]:
    """The samples, and what is to be said about them."""
    from hiermo.cli.loading import loading
    from hiermo.experiment.measure import BUDGET_S, Bench, Sample, figures, sampled

    with loading("loading torch and the data"):
        bench = Bench(recipe)
    if bench.root == 1 and len(roles) > 1:
        bench.notes.append(f"{bench.part.label} runs without edges: no merge of an edge was measured")
    found: list[Sample] = []
    with Bars() as bars:
        if link is not None:
            found += sent(bench, roles[0], node or roles[0], wanted, link, bars)
        for role in roles:
            bar = bars.add(f"{node or role} compute")
            found += [Sample(node or role, "compute", each) for each in sampled(bench.compute(role), wanted, bar)]
    cut = [each for each in figures(found) if each["samples"] < wanted]
    short = [f"{each['node']} {each['kind']}: {each['samples']} of {wanted} samples in {BUDGET_S:g} s" for each in cut]
    return found, [*bench.notes, *short]


def sent(bench: "Bench", role: str, node: str, wanted: int, link: Link, bars: "Bars") -> list["Sample"]:
    """Messages between a node and its parent."""
    from hiermo.clock.transfer import Client
    from hiermo.experiment.measure import link_samples

    direct = link.direct or bench.root == 1
    if direct and not link.direct:
        bench.notes.append(f"{bench.part.label} runs without edges: its link is the one to the cloud, as with --direct")
    kinds = ("cloud-up", "cloud-down") if direct else ("up", "down")
    sizes = bench.message(1 if role == Role.edge else 0)
    with Client(link.place, link.token) as client:
        return link_samples(client, node, kinds, sizes, wanted, lambda what: bars.add(f"{node} {what}"))


class Bars:
    """A bar per kind, drawn between two samples only: a thread that draws would be measured too."""

    EVERY_S = 0.1

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[at]}"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            auto_refresh=False,
        )
        self._drawn = 0.0

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def add(self, what: str) -> Callable[[int, int], None]:
        from time import monotonic

        from rich.markup import escape

        task = self._progress.add_task(escape(what), total=None, at="warming up")

        def show(done: int, wanted: int) -> None:
            at = f"{done}/{wanted} samples" if done else "warming up"
            self._progress.update(task, completed=done, total=wanted, at=at)
            if not done or done == wanted or monotonic() - self._drawn > self.EVERY_S:
                self._progress.refresh()
                self._drawn = monotonic()

        return show


def be_the_other_end(where: str, token: str | None) -> None:
    """Serves until Ctrl-C."""
    import secrets
    import shlex
    import socket

    from hiermo.clock.transfer import Server, address
    from hiermo.core.errors import UserError

    place = address(where, "--serve", host="127.0.0.1", least=0)
    if token is not None and not token.strip():
        raise UserError("--token must not be empty; leave it out to have a random one")
    token = token or secrets.token_hex(12)
    with Server(place, token, tell=typer.echo) as server:
        port, everywhere = server.address.port, place.host in ("0.0.0.0", "::")
        shown = server.address._replace(host=socket.gethostname()) if everywhere else server.address
        try:
            typer.echo(f"measure with: hiermo measure RECIPE --peer {shown} --token {shlex.quote(token)}")
            if everywhere:
                typer.echo(f"use an address of this machine instead of {shown.host} where that name is not known")
            elif place.host in ("127.0.0.1", "::1", "localhost"):
                typer.echo(f"from this machine only; for another one: hiermo measure --serve 0.0.0.0:{port}")
            server.serve()
        except KeyboardInterrupt:
            pass
    typer.echo(f"stopped; measured by {server.clients} client{'' if server.clients == 1 else 's'}")


def show(
    recipe: "Recipe",
    found: Sequence["Sample"],
    notes: Sequence[str],
    out: Path,
    words: Sequence[str],
    as_json: bool,
) -> None:
    """A table of the figures, or one JSON object."""
    import json
    import shlex
    import sys

    from hiermo.experiment.measure import figures

    told = figures(found)
    algorithm = recipe.algorithms[0].label
    if as_json:
        facts = {"recipe": recipe.name, "algorithm": algorithm, "figures": told, "notes": list(notes)}
        sys.stdout.write(json.dumps({**facts, "trace": str(out)}, indent=2) + "\n")
        return
    from rich.console import Console

    console = Console(highlight=False)
    console.print(figures_table(told, f"{algorithm} with {recipe.model.name} on {recipe.source.name}"))
    for note in notes:
        console.print(f"note: {note}", markup=False)
    console.print(f"trace: {out}", markup=False, soft_wrap=True)
    console.print(f"use it: hiermo run {shlex.join([*words, '--delays', str(out)])}", markup=False, soft_wrap=True)


def figures_table(told: Sequence[dict[str, Any]], title: str) -> "Table":
    """One row per node, kind and size."""
    from rich.markup import escape
    from rich.table import Table

    from hiermo.core.units import human

    sent = any(each["bytes"] is not None for each in told)
    space = 1 if sent else 2  # ten columns just fit into 80 characters
    table = Table(title=escape(title), title_justify="left", box=None, padding=(0, space, 0, 0))
    table.add_column("node", overflow="fold")
    table.add_column("kind", no_wrap=True)
    for column in ("n", "median", "mean", "10 %", "90 %", "CV", *(("size", "MB/s") if sent else ())):
        table.add_column(column, justify="right", no_wrap=True)
    for each in told:
        size, rate = each["bytes"], each["megabytes_per_s"]
        about = ["" if size is None else human(size), "" if rate is None else three_digits(rate)]
        table.add_row(
            escape(each["node"]),
            each["kind"],
            str(each["samples"]),
            *(in_words(each[key]) for key in ("median_s", "mean_s", "p10_s", "p90_s")),
            "" if each["cv"] is None else f"{each['cv']:.2f}",
            *(about if sent else []),
        )
    return table


def in_words(seconds: float) -> str:
    """Three digits and a unit.

    >>> in_words(0.0123), in_words(95.0), in_words(4.5e-6)
    ('12.3 ms', '95 s', '4.5 µs')
    """
    unit, size = next((each for each in UNITS if seconds >= each[1]), UNITS[-1])
    return f"{three_digits(seconds / size)} {unit}"


def three_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
