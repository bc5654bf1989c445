"""Fetching a data set: official address, then mirrors; resumed, retried, verified, unpacked, and only then in place."""

from collections.abc import Callable
from dataclasses import dataclass
import os
from pathlib import Path
import time
from urllib.parse import quote, urlsplit

from hiermo.core.errors import UserError
from hiermo.data.download import Download
from hiermo.data.obtain.checksum import fault
from hiermo.data.obtain.fetchable import Fetchable
from hiermo.data.obtain.lacking import lacking
from hiermo.data.obtain.listener import Listener
from hiermo.data.obtain.part import Part
from hiermo.data.obtain.place import assemble, place, wrong_contents
from hiermo.data.obtain.side import Side, locked
from hiermo.data.obtain.transfer import Failed, Pace, Slow, receive

WORTH_IT = 64 * 1024  # bytes that an attempt must bring to count for nothing: byte by byte it would never end

USUAL_PACE = Pace(after_s=15.0, slowest=200_000)


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a silent server is waited for, how often it is asked again, and the pauses, each twice the last.

    An attempt that brings the file clearly further than any before does not count: a bad line gets there in the end.
    A server that is slower than `pace` is left for the next address, and is gone back to where no other has the file.
    """

    timeout_s: float = 30.0
    attempts: int = 4
    pause_s: float = 1.0
    longest_pause_s: float = 20.0
    pace: Pace = USUAL_PACE


def fetch(
    wanted: Fetchable, directory: Path, listener: Listener | None = None, patience: Patience | None = None
) -> bool:
    """Makes the set lie whole in its folder; says whether anything had to be fetched for that."""
    listener, patience = listener or Listener(), patience or Patience()
    with locked(wanted, directory, listener) as side:
        needed = lacking(wanted, directory)
        if not needed:
            side.clear()
            return False
        try:
            files = {each: _fetch_file(wanted, each, side, listener, patience) for each in needed}
            assemble(files, side.staged, listener)
            if wrong := wrong_contents(wanted, side):
                for file in files.values():
                    file.unlink()
                raise UserError(
                    f"data set {wanted.name}: what was fetched is not what it should be: {wrong}; {_way_out(wanted)}"
                )
            place(side)
        finally:
            side.tidy()
    return True


def addresses(wanted: Fetchable, download: Download) -> list[str]:
    """HIERMO_MIRROR/<folder>/<name> where that is set, then those that the source declares."""
    mirror = os.environ.get("HIERMO_MIRROR", "").rstrip("/")
    if mirror and (urlsplit(mirror).scheme not in ("http", "https") or "@" in mirror):
        raise UserError("HIERMO_MIRROR must begin with https:// or http:// and hold no password; mend or unset it")
    ours = [f"{mirror}/{quote(wanted.folder)}/{quote(download.name)}"] if mirror else []
    return ours + [url for url in download.urls if urlsplit(url).scheme in ("http", "https")]


def _fetch_file(wanted: Fetchable, download: Download, side: Side, listener: Listener, patience: Patience) -> Path:
    """The verified file, in the side folder."""
    part = Part(side.downloads / download.name)
    checksum = download.checksum or wanted.known.get(download.name, "")

    def judge(file: Path) -> str:
        if download.archive and not checksum:
            return _trial(wanted, download, side, file)
        why = fault(file, checksum)
        return why and f"its {download.name} {why}"

    if part.target.is_file() and not judge(part.target):
        return part.target
    tried = []
    urls = addresses(wanted, download)
    waiting = [(url, patience.pace if len(urls) > 1 else None) for url in urls]
    for url, pace in waiting:  # grows by those that were slow
        failed = _from_address(url, part, bool(checksum), judge, listener, patience, pace)
        if failed is None:
            return part.target
        if isinstance(failed, Slow):
            waiting.append((url, None))
        else:
            tried.append(f"{url}: {failed}")
        listener.note(f"{url}: {failed}")
    raise UserError(
        f"data set {wanted.name}: {download.name} could not be fetched ({'; '.join(tried)}); {_way_out(wanted)}"
    )


def _way_out(wanted: Fetchable) -> str:
    by_hand = f"hiermo data import {wanted.name} PATH"
    return f"try again later, or get it by other means and hand it over with: {by_hand}"


def _trial(wanted: Fetchable, download: Download, side: Side, file: Path) -> str:
    """What is wrong with an archive that has no checksum: it must unpack, to files that have the right ones."""
    try:
        assemble({download: file}, side.staged, Listener())
    except UserError as error:
        return str(error)
    return wrong_contents(wanted, side) if len(wanted.downloads) == 1 else ""  # else it need not hold all of them


def _from_address(
    url: str,
    part: Part,
    checked: bool,
    judge: Callable[[Path], str],
    listener: Listener,
    patience: Patience,
    pace: Pace | None,
) -> Failed | None:
    """Why there is no right file after several attempts; or nothing, and it has its name."""
    failures, furthest = 0, part.size
    while True:
        began_at = part.size
        try:
            receive(url, part, patience.timeout_s, checked, listener, pace)
            whole = part.whole()
            if not (wrong := judge(part.path)):
                part.finish()
                return None
            part.forget()
            # a file put together from two answers, or of unknown length, may be wrong by accident
            raise Failed(wrong, again=began_at > 0 or whole is None or whole.size is None)
        except Failed as failed:
            further = part.size >= furthest + WORTH_IT
            failures = 1 if further else failures + 1
            furthest = part.size if further else furthest
            if not failed.again:
                return failed
            if failures >= patience.attempts:
                return Failed(f"{failed} ({failures} attempts)")
            listener.note(f"{url}: {failed}; trying again")
        time.sleep(min(patience.pause_s * 2 ** (failures - 1), patience.longest_pause_s))
