"""Writes the pages that say what the code says: every key of a recipe, every verb, every public name, the decisions.

python docs/make_reference_pages.py        (`make docs` does it too; a test compares the pages with the code)
"""

from pathlib import Path

from site_pages.command_line import command_line_page
from site_pages.decisions import decisions_page
from site_pages.library import library_page
from site_pages.recipe import recipe_page

HERE = Path(__file__).parent
PAGES = {
    "recipe.md": recipe_page,
    "command-line.md": command_line_page,
    "reference.md": library_page,
    "decisions/README.md": decisions_page,
}


def main() -> None:
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
