"""`hiermo`: the verbs, and what their endings mean.

Exit codes: 0 done, 1 a bug, 2 the user's input is wrong, 130 interrupted after a checkpoint.
"""

import sys
from typing import Annotated, Any
import warnings

import click
import typer

from hiermo._version import __version__
from hiermo.cli.doctor import doctor
from hiermo.cli.init import init
from hiermo.cli.list import list_things
from hiermo.cli.resume import resume
from hiermo.cli.run import run
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


app.command()(run)
app.command()(resume)
app.command()(init)
app.command("list")(list_things)
app.command()(doctor)


def main() -> None:
    warnings.showwarning = _show_warning
    try:
        code = app(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        typer.echo(error.ctx.get_help() if error.ctx else "")
        code = 2
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except HiermoError as error:
        for line in str(error).splitlines():
            typer.echo(f"error: {line}", err=True)
        code = 2
    except (KeyboardInterrupt, click.Abort):
        typer.echo("interrupted", err=True)
        code = 130
    sys.exit(code)


def _show_warning(message: Any, *args: Any, **kwargs: Any) -> None:
    typer.echo(f"warning: {message}", err=True)
