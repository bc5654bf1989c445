"""The page as one file: template, style, scripts and data, all inside; a policy lets nothing else run."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
import json
from typing import Any

from hiermo.core.errors import UserError
from hiermo.experiment.store import Found
from hiermo.report.page.page_data import POINTS, page_data
from hiermo.report.page.tunings import FoundTuning

LARGEST = 6_000_000  # bytes of a page
SCRIPTS = ("dom", "numbers", "look", "curves", "bars", "heat", "holdings", "tree", "section", "page")  # in this order
# what would end the element that holds the data, or begin another; and what JavaScript takes for the end of a line
ESCAPES: dict[str, str | int | None] = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def report_page(
    found: Found,
    tunings: Sequence[FoundTuning] = (),
    *,
    title: str = "",
    until: Mapping[str, float] | None = None,
    largest: int = LARGEST,
) -> str:
    """A whole page that needs nothing else; where runs are many, curves are thinned until it is small enough."""
    points = POINTS
    while True:
        page = rendered(page_data(found, tunings, title=title, until=until, points=points), plotly_script())
        if len(page.encode("utf-8")) < largest:
            return page
        points //= 2
        if points < 100:
            raise UserError(f"these are {len(found.runs)} runs, too many for one page: report some of them")


def rendered(data: dict[str, Any], plotly: str | None) -> str:
    """The page with this data; without `plotly`, its script is asked of the server that the page came from."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("hiermo.report.page", "."), autoescape=True, undefined=StrictUndefined, auto_reload=False
    )
    script, style = own_script(), own_file("page.css")
    embedded = json_for_html(data)
    return environment.get_template("page.html").render(
        title=data["title"],
        policy=policy([script, *([] if plotly is None else [plotly])], served=plotly is None),
        style=style,
        script=script,
        plotly=plotly,
        data=embedded,
    )


def policy(scripts: Sequence[str], served: bool) -> str:
    """Only these scripts run, and no host is asked for anything: what a name smuggled in would be dead text."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(each.encode('utf-8')).digest()).decode()}'" for each in scripts)
    own = " 'self'" if served else ""
    return (
        f"default-src 'none'; script-src {hashes}{own}; style-src 'unsafe-inline'; img-src data: blob:; "
        f"connect-src {own.strip() or repr('none')}; base-uri 'none'; form-action 'none'"
    )


def json_for_html(data: Any) -> str:
    """JSON without a character that HTML could take for its own.

    >>> json_for_html("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    told = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return told.translate(str.maketrans(ESCAPES))


def own_file(name: str) -> str:
    return (files("hiermo.report.page") / name).read_text(encoding="utf-8")


def own_script() -> str:
    """All of ours as one, in a scope of its own."""
    parts = "\n".join(own_file(f"script/{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def plotly_script() -> str:
    from plotly.offline import get_plotlyjs

    script: str = get_plotlyjs()
    if "</script" in script.lower():  # would end the element that holds it; hashes are of the text as it is
        raise UserError("this version of plotly has a script that cannot be inlined; install another one")
    return script
