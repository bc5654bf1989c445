"""`hiermo data`: the verbs for data sets on disk."""

from collections.abc import Callable

import typer

from hiermo.cli.data_fetch import fetch
from hiermo.cli.data_import import import_set
from hiermo.cli.data_show import show

data = typer.Typer(
    help="Fetch data sets, take over those that are on disk already, show who holds what.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DATA_VERBS: dict[str, Callable[..., None]] = {
    "fetch": fetch,
    "import": import_set,
    "show": show,
}
