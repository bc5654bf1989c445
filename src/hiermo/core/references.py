"""Citations: BibTeX entries by key."""

from collections.abc import Iterable
from importlib.resources import files
import re

from hiermo.core.errors import UserError


def entries() -> dict[str, str]:
    """Key -> BibTeX entry, of what the package knows."""
    text = (files("hiermo") / "references.bib").read_text(encoding="utf-8")
    return {
        match[1]: match[0].strip() for match in re.finditer(r"^@\w+\{([^,]+),.*?^\}$", text, re.DOTALL | re.MULTILINE)
    }


def bibtex(cites: Iterable[str]) -> str:
    """The entries of these keys, each once; what begins with @ is an entry already.

    >>> bibtex(["hiermo"]).splitlines()[0]
    '@misc{hiermo,'
    """
    known, found = entries(), []
    for cite in dict.fromkeys(cites):
        if not cite.startswith("@") and cite not in known:
            raise UserError(
                f"there is no reference '{cite}': give a whole BibTeX entry in `cites`, or one of {', '.join(known)}"
            )
        found.append(cite if cite.startswith("@") else known[cite])
    return "\n\n".join(found)
