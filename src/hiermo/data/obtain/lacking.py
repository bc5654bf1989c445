"""What a data set lacks: files that are missing or wrong are fetched, those that are right are not."""

from pathlib import Path

from hiermo.core.errors import UserError
from hiermo.data.download import Download
from hiermo.data.obtain.checksum import fault
from hiermo.data.obtain.fetchable import Fetchable
from hiermo.data.obtain.place import plain


def lacking(wanted: Fetchable, directory: Path) -> list[Download]:
    """The files to fetch, and the archives of which anything is wanted."""
    bad = _bad(wanted, directory)
    files = {each.name for each in wanted.downloads if not each.archive}
    whole = not bad - files if wanted.contents else wanted.source.find(directory) is not None
    return [each for each in wanted.downloads if (not whole if each.archive else each.name in bad)]


def _bad(wanted: Fetchable, directory: Path) -> set[str]:
    """Declared files that are missing or wrong; of unpacked ones and of other forms only the reader can tell."""
    folder, declared = directory / wanted.folder, wanted.known.keys()
    unpacked = {path for path in declared if plain(folder / path)}
    absent = {path for path in declared - unpacked if not (folder / path).is_file()}
    if absent == declared:
        return set() if absent and _readable(wanted, directory) else absent
    wrong = {path for path in declared - unpacked - absent if fault(folder / path, wanted.known[path])}
    return wrong | absent | (set() if not unpacked or _readable(wanted, directory) else unpacked)


def _readable(wanted: Fetchable, directory: Path) -> bool:
    if wanted.source.find(directory) is None:
        return False
    try:
        wanted.source.load(directory)
    except UserError:
        return False
    return True
