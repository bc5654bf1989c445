"""Who wants to hear how far a fetch or an import is."""


class Listener:
    """One that does not care; the command line has one that draws bars."""

    def progress(self, doing: str, file: str, done: int, total: int | None) -> None:
        """`doing` (fetching, unpacking, copying) `file` is at `done` of `total` bytes, which may be unknown."""

    def note(self, sentence: str) -> None:
        """Something that is no error yet: an address that does not answer, another process at work."""
