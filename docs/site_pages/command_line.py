"""The page on the command line, from the verbs themselves."""

from collections.abc import Iterator
from enum import StrEnum
from inspect import unwrap
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from site_pages.cells import cell, code
import typer

from hiermo.cli.app import app

KINDS = {str: "TEXT", int: "N", float: "X", Path: "PATH"}
HEAD = """# Command line

Made by `python docs/make_reference_pages.py` out of the verbs; `hiermo VERB --help` says the same. Exit codes: 0 done,
2 the input is wrong, 130 interrupted after a checkpoint, 1 a bug. With `--json` one JSON object is on standard output
and nothing else; progress and warnings are on standard error.
"""


def command_line_page() -> str:
    verbs = list(_verbs(typer.main.get_command(app), "hiermo"))
    listed = ["| verb | what it does |", "|---|---|"]
    listed += [f"| [`{name}`](#{name.replace(' ', '-')}) | {cell(_first(verb.help))} |" for name, verb in verbs]
    return "\n".join([HEAD, *listed, "", *(line for name, verb in verbs for line in _section(name, verb))])


def _verbs(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every verb, those of groups with the group's name before theirs."""
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
        return
    for each, verb in below.items():
        if not verb.hidden:
            yield from _verbs(verb, f"{name} {each}")


def _section(name: str, verb: Any) -> list[str]:
    arguments = [each for each in verb.params if each.param_type_name == "argument"]
    options = [each for each in verb.params if each.param_type_name == "option" and not getattr(each, "hidden", False)]
    hints = get_type_hints(unwrap(verb.callback))
    usage = [name, *(_argument(each) for each in arguments), *(["[OPTIONS]"] if options else [])]
    lines = [f"## {name}", "", _text(verb.help), "", f"`{' '.join(usage)}`", ""]
    if rows := [_row(_argument(each), each) for each in arguments] + [
        _row(_option(each, hints[each.name]), each) for each in options
    ]:
        lines += ["| | meaning | default |", "|---|---|---|", *rows, ""]
    return lines


def _argument(parameter: Any) -> str:
    shown = (parameter.metavar or parameter.name.upper()).strip("[]")
    more = "..." if parameter.nargs == -1 and not shown.endswith("...") else ""
    return f"{shown}{more}" if parameter.required else f"[{shown}{more}]"


def _option(parameter: Any, hint: Any) -> str:
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} {parameter.metavar or _kind(hint)}"


def _kind(hint: Any) -> str:
    """What is written for a value; from the verb's own types, as typer keeps them elsewhere from release to release."""
    if get_origin(hint) is Literal:
        return "|".join(map(str, get_args(hint)))
    if isinstance(hint, type):
        return "|".join(hint) if issubclass(hint, StrEnum) else KINDS[hint]
    return _kind(next(each for each in get_args(hint) if each is not NoneType))


def _row(name: str, parameter: Any) -> str:
    default = parameter.default
    unsaid = default in (None, False, (), []) or callable(default) or str(default) == "Sentinel.UNSET"
    needed = parameter.required and parameter.param_type_name == "option"
    shown = "needed" if needed else "" if unsaid else code(_value(default))
    return f"| {code(name)} | {cell(parameter.help or '')} | {shown} |"


def _value(default: Any) -> str:
    if isinstance(default, (list, tuple)):
        return " ".join(map(_value, default))
    return str(getattr(default, "value", default))


def _text(text: str | None) -> str:
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (text or "").split("\n\n"))


def _first(text: str | None) -> str:
    return _text(text).split("\n\n")[0]
