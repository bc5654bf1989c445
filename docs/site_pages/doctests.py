"""Examples in docstrings as blocks of code; Markdown alone would take `>>>` for a quotation."""

from itertools import groupby
from typing import Any

from griffe import Extension, Object


class Doctests(Extension):
    """Fences each paragraph that begins with `>>>`."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring and ">>>" in obj.docstring.value:
            obj.docstring.value = "\n\n".join(map(_fenced, _paragraphs(obj.docstring.value)))


def _paragraphs(text: str) -> list[str]:
    lines = text.splitlines()
    return ["\n".join(block) for filled, block in groupby(lines, key=lambda line: bool(line.strip())) if filled]


def _fenced(paragraph: str) -> str:
    return f"```pycon\n{paragraph}\n```" if paragraph.startswith(">>>") else paragraph
