"""The user's wish to stop; apart from what trains, so that one can know it without loading torch."""


class Interrupted(Exception):  # noqa: N818 - a wish, not an error
    """Stopped on request, after a checkpoint."""
