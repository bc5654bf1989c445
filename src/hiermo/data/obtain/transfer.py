"""One request for one file over http: from where the last one stopped, if that is safe."""

from collections.abc import Iterator
from http.client import HTTPException, HTTPResponse, InvalidURL
import re
from time import monotonic
from typing import NamedTuple
from urllib import request
from urllib.error import HTTPError, URLError

from hiermo._version import __version__
from hiermo.data.obtain.listener import Listener
from hiermo.data.obtain.part import Part, Whole

BLOCK = 256 * 1024
BUSY = (408, 425, 429)  # the only answers below 500 that may be another one later


class Failed(Exception):  # noqa: N818 - a fact about a request, told to whoever decides on the next
    """Why no file came; `again` says whether asking the same address once more could help."""

    def __init__(self, why: str, again: bool = True) -> None:
        super().__init__(why)
        self.again = again


class Slow(Failed):
    """The server answers, but so slowly that another one should be tried first."""


class Pace(NamedTuple):
    """After so many seconds, at least so many bytes per second on average."""

    after_s: float
    slowest: float

    def check(self, came: int, elapsed_s: float) -> None:
        if elapsed_s > self.after_s and came < self.slowest * elapsed_s:
            raise Slow(f"is slow, {came / elapsed_s / 1000:.0f} kB a second", again=False)


def receive(url: str, part: Part, timeout_s: float, checked: bool, listener: Listener, pace: Pace | None) -> None:
    """Adds to the part what it lacks; raises Failed, and then what came so far is kept.

    `checked` says that the whole will be compared with a checksum: only then are bytes of two addresses, or of a
    server that names no version, put together.
    """
    whole, held = part.whole(), part.size
    if whole and held and whole.size == held:
        return
    same = whole is not None and whole.url == url and bool(whole.version)
    start = held if whole and (same or checked) else 0
    headers = {"User-Agent": f"hiermo/{__version__}", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if whole and same:
            headers["If-Range"] = whole.version
    with _open(request.Request(url, headers=headers), timeout_s, part) as response:
        if response.status == 206:
            whole, until = _goes_on(response, start, whole, same, part)
        else:
            start, until = 0, response.length
            whole = Whole(url, _version(response), until)
            part.begin(whole)
        done, begun = start, monotonic()
        listener.progress("fetching", part.target.name, done, whole.size)
        with part.path.open("ab") as file:
            for block in _blocks(response, until, done, timeout_s):
                file.write(block)
                done += len(block)
                listener.progress("fetching", part.target.name, done, whole.size)
                if pace is not None and done != whole.size:
                    pace.check(done - start, monotonic() - begun)
    if whole.size is not None and done < whole.size:
        raise Failed(f"the connection broke off after {done} of {whole.size} bytes")


def _open(asked: request.Request, timeout_s: float, part: Part) -> HTTPResponse:
    opener = request.OpenerDirector()
    for handler in (  # not those for file:, ftp: and data:, to which a server could redirect
        request.ProxyHandler(),
        request.UnknownHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPRedirectHandler(),
        request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    try:
        response = opener.open(asked, timeout=timeout_s)
    except HTTPError as error:
        error.close()
        if error.code == 416:  # the file is shorter than what is here of it
            part.forget()
            raise Failed("the file has changed since its first part was fetched") from None
        raise Failed(f"{error.code} {error.reason}", again=error.code >= 500 or error.code in BUSY) from None
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)  # a text, or a ValueError such as a wrong certificate, stays as it is
        raise Failed(_said(error, timeout_s), again=not isinstance(reason, str | ValueError | InvalidURL)) from error
    if not isinstance(response, HTTPResponse) or response.status not in (200, 206):
        raise Failed(f"answered {getattr(response, 'status', response)}", again=False)
    return response


def _goes_on(
    response: HTTPResponse, start: int, whole: Whole | None, same: bool, part: Part
) -> tuple[Whole, int | None]:
    """The whole, and up to where this answer goes; refuses an answer that does not continue the part."""
    told = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", response.headers.get("Content-Range", "").strip())
    fits = whole is not None and told is not None and int(told[1]) == start > 0
    if fits and whole and told:
        size = int(told[3]) if told[3] != "*" else whole.size
        changed = same and _version(response) not in ("", whole.version)
        if not changed and whole.size in (None, size):
            return Whole(whole.url, whole.version, size), int(told[2]) + 1
    part.forget()
    raise Failed("the file has changed since its first part was fetched")


def _version(response: HTTPResponse) -> str:
    """What If-Range may name: a strong ETag, or the date."""
    tag = response.headers.get("ETag", "")
    return tag if tag.startswith('"') else response.headers.get("Last-Modified", "")


def _blocks(response: HTTPResponse, until: int | None, done: int, timeout_s: float) -> Iterator[bytes]:
    """What comes; only the network's errors are caught here, those of the disk belong to whoever writes."""
    while until is None or done < until:
        try:
            block = response.read1(BLOCK if until is None else min(BLOCK, until - done))
        except (OSError, HTTPException, ValueError) as error:
            raise Failed(_said(error, timeout_s)) from error
        if not block:
            return
        done += len(block)
        yield block


def _said(error: Exception, timeout_s: float) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, TimeoutError):
        return f"nothing came for {timeout_s:g} s"
    return " ".join(str(getattr(reason, "strerror", None) or reason or type(reason).__name__).split())
