"""`hiermo data`: the verbs for data sets on disk."""

from collections.abc import Callable

import typer

from hiermo.cli.data_fetch import fetch
from hiermo.cli.data_import import import_set

data = typer.Typer(
    help="Fetch data sets, or take over those that are on disk already.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DATA_VERBS: dict[str, Callable[..., None]] = {
    "fetch": fetch,
    "import": import_set,
}
