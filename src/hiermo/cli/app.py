"""`hiermo`: the verbs, and what their endings mean.

Exit codes: 0 done, 1 a bug, 2 the user's input is wrong, 130 interrupted after a checkpoint.
"""

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any
import warnings

import typer

from hiermo._version import __version__
from hiermo.cli.bounds import bounds
from hiermo.cli.check import check
from hiermo.cli.cite import cite
from hiermo.cli.data import DATA_VERBS, data
from hiermo.cli.diff import diff
from hiermo.cli.doctor import doctor
from hiermo.cli.export import export
from hiermo.cli.forecast import forecast
from hiermo.cli.init import init
from hiermo.cli.list import list_things
from hiermo.cli.ls import ls
from hiermo.cli.measure import measure
from hiermo.cli.report import report
from hiermo.cli.reproduce import reproduce
from hiermo.cli.resume import resume
from hiermo.cli.retime import retime
from hiermo.cli.rm import rm
from hiermo.cli.run import run
from hiermo.cli.sweep import sweep
from hiermo.cli.tune import tune
from hiermo.cli.watch import watch
from hiermo.core.errors import HiermoError

EPILOG = "Start with `hiermo run quick/digits`, or write a recipe of your own with `hiermo init`."

app = typer.Typer(
    help="Hierarchical federated learning with momentum: workers, edges, cloud.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hiermo {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hierarchical federated learning with momentum: workers, edges, cloud."""


def ending(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with its errors as sentences and exit codes; what is not ours is a bug and keeps its traceback."""

    @wraps(verb)
    def ended(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
        except HiermoError as error:
            for line in str(error).splitlines():
                typer.echo(f"error: {line}", err=True)
            raise typer.Exit(2) from None
        except BrokenPipeError:
            raise
        except OSError as error:  # a full disk, a folder that may not be written
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(130) from None

    return ended


VERBS: dict[str, Callable[..., None]] = {
    "run": run,
    "resume": resume,
    "sweep": sweep,
    "report": report,
    "watch": watch,
    "ls": ls,
    "diff": diff,
    "rm": rm,
    "retime": retime,
    "forecast": forecast,
    "tune": tune,
    "reproduce": reproduce,
    "export": export,
    "init": init,
    "list": list_things,
    "check": check,
    "bounds": bounds,
    "measure": measure,
    "doctor": doctor,
    "cite": cite,
}
for name, verb in VERBS.items():
    app.command(name)(ending(verb))
for name, verb in DATA_VERBS.items():
    data.command(name)(ending(verb))
app.add_typer(data, name="data")


def main() -> None:
    warnings.showwarning = _show_warning
    app()


def _show_warning(message: Any, *args: Any, **kwargs: Any) -> None:
    typer.echo(f"warning: {message}", err=True)
