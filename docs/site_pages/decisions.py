"""The list of decisions, from the titles of their pages."""

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "decisions"
HEAD = """# Decisions

Why things are as they are, half a page each, in the order in which they were decided.
"""


def decisions_page() -> str:
    lines = []
    for file in sorted(FOLDER.glob("[0-9]*.md")):
        with file.open(encoding="utf-8") as page:
            title = page.readline().strip("# \n")
        lines.append(f"- [{title}]({file.name})")
    return "\n".join([HEAD, *lines, ""])
