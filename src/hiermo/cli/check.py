"""`hiermo check`."""

from typing import Annotated

import typer


def check(
    path: Annotated[
        str,
        typer.Argument(metavar="IMPORT_PATH", help="module:Class, looked for in this folder too, or a listed name."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Check that an algorithm keeps to the contract: pure, resumable, the same in every engine."""
    import json
    from pathlib import Path

    from hiermo.algorithms import ALGORITHMS
    from hiermo.checking.check import checks
    from hiermo.checking.fault import said
    from hiermo.core.errors import HiermoError, UserError

    try:
        algorithm = ALGORITHMS.get(path, (Path.cwd(),))
    except HiermoError:
        raise
    except Exception as error:  # whatever a module does while it is imported
        raise UserError(f"'{path}' cannot be imported: {said(error)}") from None
    found = []
    for name, message in checks(algorithm):
        found.append({"name": name, "ok": message is None, "message": message})
        if not as_json:
            typer.echo(f"{name:<11} {message or 'ok'}")
    if as_json:
        typer.echo(json.dumps({"algorithm": path, "checks": found}, indent=2))
    if wrong := [each["name"] for each in found if not each["ok"]]:
        raise UserError(f"{path} fails {len(wrong)} of {len(found)} checks: {', '.join(map(str, wrong))}")
