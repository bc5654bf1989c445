"""The blocks of code of a page, as Markdown understands them, indented ones too."""

from pathlib import Path
import re
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Block(NamedTuple):
    """`language` is empty where the page names none."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    found = [each for each in MarkdownIt().parse(page.read_text(encoding="utf-8")) if each.type in KINDS]
    return [Block(_language(each.info), each.content, each.map[0] + 1) for each in found]


KINDS = ("fence", "code_block")


def _language(info: str) -> str:
    """`{.python .peer}` is the language `python.peer`: it has a rule of its own."""
    return ".".join(re.findall(r"\.([\w-]+)", info)) if info.startswith("{") else info.split(" ")[0]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()
