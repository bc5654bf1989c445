"""Where data sets are looked for."""

import os
from pathlib import Path

from platformdirs import user_cache_path


def data_directory() -> Path:
    """The folder that HIERMO_DATA names, or else the user's cache of hiermo."""
    named = os.environ.get("HIERMO_DATA")
    return Path(named).expanduser() if named else user_cache_path("hiermo")
