"""Names that others chose, for a terminal."""


def printable(text: object) -> str:
    r"""Nothing that would move the cursor, turn the text around or cannot be encoded: it is shown as an escape.

    >>> printable("runs/a\x1b[2J\n\u202ex\udcff")
    'runs/a\\x1b[2J\\n\\u202ex\\udcff'
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))
