"""`hiermo watch`."""

from pathlib import Path
from typing import Annotated

import typer


def watch(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="Run directories, or folders of them; else runs.", show_default=False),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the page; else one that is free.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Show runs in the browser while they go on, on this machine alone; Ctrl-C ends it, and disturbs no run."""
    import signal

    from hiermo.cli.interrupt import SIGNALS
    from hiermo.cli.loading import loading
    from hiermo.report.page.live import LiveStore
    from hiermo.report.page.server import PageServer

    for number in SIGNALS:  # a shell that starts it in the background would have Ctrl-C ignored
        signal.signal(number, signal.default_int_handler)
    store = LiveStore(paths or [Path("runs")])
    with loading("reading the runs"):
        store.told()
    with PageServer(store, port) as server:
        typer.echo(f"{server.address} shows {', '.join(map(str, store.paths))}; Ctrl-C ends it")
        if browser:
            import webbrowser

            webbrowser.open(server.address)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            typer.echo("ended", err=True)
