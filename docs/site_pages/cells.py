"""Text inside tables of Markdown, for GitHub and for the site."""


def cell(text: str) -> str:
    """On one line; a bar would end the cell."""
    return " ".join(text.split()).replace("|", "&#124;")


def code(text: str) -> str:
    """As code; a bar in backticks is read in two ways, so HTML is used where there is one."""
    return f"<code>{cell(text)}</code>" if "|" in text else f"`{cell(text)}`"
