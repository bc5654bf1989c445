"""Times messages over TCP: a server that swallows and makes them, and a client with a stopwatch.

The server greets with a challenge; the client answers with its HMAC under the token, and before that is right nothing
else is read. Then the client asks, one request after the other: a ping, a message up, a message down. Headers have a
fixed size, nothing is pickled, and what a message holds is noise out of one small buffer, for a link may compress.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
import hmac
import os
import re
import secrets
import socket
import struct
from threading import Event, Lock, Thread
from time import monotonic, perf_counter
from types import TracebackType
from typing import NamedTuple, Self

from hiermo.core.errors import UserError

NAME, VERSION = b"hiermo", 1
GREETING = struct.Struct("!6sHB32s")  # name, version, whether there is room, challenge
PROOF = struct.Struct("!6s32s")  # name, HMAC-SHA256 of the challenge
VERDICT = struct.Struct("!BQ")  # whether the proof is right, and the longest message that is taken
REQUEST = struct.Struct("!BQ")  # kind, bytes of the message
PING, UP, DOWN = 1, 2, 3
NO, YES = b"\x00", b"\x01"

LARGEST = 4 << 30  # bytes of a message
CHUNK = 1 << 18  # bytes that are sent or read at once
MOST = 16  # connections at once
GREETING_S = 10.0  # for all of the greeting, so that a stranger cannot hold a place by dripping bytes
SILENCE_S = 120.0  # without a byte, in either direction: what a slow link has buffered may take a while

PLACE = re.compile(r"(?:(?:\[([-0-9a-zA-Z_:.%]+)\]|([^\[\]:\s]+)):)?([0-9]{1,5})")


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address(text: str, option: str, host: str | None = None, least: int = 1) -> Address:
    """HOST:PORT or [IPV6]:PORT; the port alone where there is a usual `host`.

    >>> address("[::1]:5000", "--peer")
    Address(host='::1', port=5000)
    """
    found = PLACE.fullmatch(text)
    name = host if found is None else found[1] or found[2] or host
    if found is None or name is None or not least <= int(found[3]) <= 65535:
        form = "HOST:PORT" if host is None else "PORT or HOST:PORT"
        raise UserError(f"{option} {text}: write {form}, as in 192.168.1.7:5000 or [::1]:5000")
    return Address(name, int(found[3]))


class Closed(Exception):  # noqa: N818 - a fact about a connection
    """The other end closed it, after `came` bytes of what was expected."""

    def __init__(self, came: int) -> None:
        super().__init__(came)
        self.came = came


class Unfit(Exception):  # noqa: N818 - likewise
    """What came is not what the protocol says."""


class Tally:
    """What one client did."""

    def __init__(self) -> None:
        self.proved = False
        self.messages = self.received = self.sent = 0


class Server:
    """Answers clients that know the token, each in a thread; `tell` hears a sentence per client."""

    def __init__(
        self,
        place: Address,
        token: str,
        *,
        tell: Callable[[str], object] = lambda sentence: None,
        largest: int = LARGEST,
        most: int = MOST,
        greeting_s: float = GREETING_S,
        silence_s: float = SILENCE_S,
    ) -> None:
        try:
            family, _, _, _, bound = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
            self._listener = socket.create_server(bound, family=family, backlog=most)
        except (socket.gaierror, UnicodeError):  # the latter of a name that cannot be one
            raise UserError(
                f"--serve {place}: there is no machine '{place.host}'; name an address of this one"
            ) from None
        except OSError as error:
            raise UserError(f"--serve {place}: cannot listen there: {_said(error)}") from None
        self._listener.settimeout(0.2)  # so that `close` is seen
        self.address = Address(place.host, self._listener.getsockname()[1])
        self.largest, self.most, self.greeting_s, self.silence_s = largest, most, greeting_s, silence_s
        self.clients = 0  # that came to measure
        self._token, self._teller = token, tell
        self._stopping, self._lock = Event(), Lock()
        self._open: dict[socket.socket, Thread] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def serve(self) -> None:
        """Until `close`, or an exception such as Ctrl-C."""
        while not self._stopping.is_set():
            try:
                connection, (host, port, *_) = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:  # too many open files, a client that is gone already
                if not self._stopping.wait(0.2):
                    self._tell(f"a connection was lost: {_said(error)}")
                continue
            self._welcome(connection, Address(host, port))

    def close(self) -> None:
        """Ends every connection, and the threads with them."""
        self._stopping.set()
        self._listener.close()
        with self._lock:
            still = dict(self._open)
        for connection in still:
            with suppress(OSError):  # closed meanwhile
                connection.shutdown(socket.SHUT_RDWR)
        for thread in still.values():
            if thread.is_alive():  # Ctrl-C may have come before it was started
                thread.join(5)

    def _tell(self, sentence: str) -> None:
        with suppress(OSError):  # nobody reads it any more: no reason to stop
            self._teller(sentence)

    def _welcome(self, connection: socket.socket, who: Address) -> None:
        with self._lock:
            room = len(self._open) < self.most
            if room:
                thread = Thread(target=self._attend, args=(connection, who), daemon=True)
                self._open[connection] = thread
                thread.start()
        if room:
            return
        with connection, suppress(OSError):
            connection.settimeout(self.greeting_s)
            connection.sendall(GREETING.pack(NAME, VERSION, False, bytes(32)))
        self._tell(f"{who}: turned away, {self.most} others are connected")

    def _attend(self, connection: socket.socket, who: Address) -> None:
        tally = Tally()
        try:
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._check(connection, tally)
                self._answer(connection, tally)
        except Closed as closed:
            self._end(who, tally, "" if tally.proved and not closed.came else _broken(tally))
        except Unfit as unfit:
            self._end(who, tally, str(unfit), its_own=True)
        except TimeoutError:
            wait_s = self.silence_s if tally.proved else self.greeting_s
            self._end(who, tally, f"silent for {wait_s:g} s")
        except OSError as error:
            self._end(who, tally, f"{_broken(tally)} ({_said(error)})")
        finally:
            with self._lock:
                del self._open[connection]

    def _end(self, who: Address, tally: Tally, fault: str, its_own: bool = False) -> None:
        """One sentence; none for who only asked whether somebody is there, nor for those cut off by `close`.

        A fault of the client's own is told also while the server ends.
        """
        with self._lock:
            self.clients += bool(tally.messages)
        number = f"{tally.messages} message{'' if tally.messages == 1 else 's'}"
        moved = f"{number}, {_megabytes(tally.received)} in, {_megabytes(tally.sent)} out"
        words = [*([moved] if tally.messages else []), *([f"{fault}; connection closed"] if fault else [])]
        if words and not (fault and not its_own and self._stopping.is_set()):
            self._tell(f"{who}: {'; '.join(words)}")

    def _check(self, connection: socket.socket, tally: Tally) -> None:
        connection.settimeout(self.greeting_s)
        deadline, challenge = monotonic() + self.greeting_s, secrets.token_bytes(32)
        connection.sendall(GREETING.pack(NAME, VERSION, True, challenge))
        name, proof = PROOF.unpack(_exactly(connection, PROOF.size, deadline))
        if name != NAME:
            raise Unfit("does not speak as hiermo does")
        tally.proved = hmac.compare_digest(proof, _proof(self._token, challenge))
        connection.sendall(VERDICT.pack(tally.proved, self.largest))
        if not tally.proved:
            raise Unfit("wrong token")

    def _answer(self, connection: socket.socket, tally: Tally) -> None:
        """Request after request, until the client closes."""
        buffer = memoryview(bytearray(CHUNK))
        connection.settimeout(self.silence_s)
        while True:
            kind, size = REQUEST.unpack(_exactly(connection, REQUEST.size))
            if kind not in (PING, UP, DOWN):
                raise Unfit("asked for something unknown")
            if size > self.largest:
                connection.sendall(NO)
                raise Unfit(f"announced a message of {size} bytes, more than {self.largest}")
            connection.sendall(YES)
            if kind == UP:
                _swallow(connection, size, buffer)
                connection.sendall(YES)
                tally.received += size
            elif kind == DOWN:
                _pour(connection, size)
                tally.sent += size
            tally.messages += kind != PING


class Client:
    """Times messages to a server, in seconds; says in a sentence what is wrong with it."""

    def __init__(
        self, place: Address, token: str, *, greeting_s: float = GREETING_S, silence_s: float = SILENCE_S
    ) -> None:
        self.address, self._silence_s = place, silence_s
        self._buffer = memoryview(bytearray(CHUNK))
        self._socket = _connected(place, greeting_s)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._prove(token, greeting_s)
            self._socket.settimeout(silence_s)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def ping(self) -> float:
        """There and back, without a message."""
        with _unbroken(self.address, self._silence_s):
            begun = perf_counter()
            self._ask(PING, 0)
            return perf_counter() - begun

    def up(self, size: int) -> float:
        """From the first byte sent until the other end has said that it has all."""
        with _unbroken(self.address, self._silence_s):
            self._ask(UP, size)
            begun = perf_counter()
            _pour(self._socket, size)
            _exactly(self._socket, len(YES))
            return perf_counter() - begun

    def down(self, size: int) -> float:
        """From the request until the last byte came."""
        with _unbroken(self.address, self._silence_s):
            begun = perf_counter()
            self._ask(DOWN, size)
            _swallow(self._socket, size, self._buffer)
            return perf_counter() - begun

    def _ask(self, kind: int, size: int) -> None:
        if size > self.largest:
            raise UserError(f"{self.address} takes messages of at most {self.largest} bytes, and this one has {size}")
        self._socket.sendall(REQUEST.pack(kind, size))
        if _exactly(self._socket, len(YES)) != YES:
            raise UserError(f"{self.address} refused a message of {size} bytes")

    def _prove(self, token: str, greeting_s: float) -> None:
        place, deadline = self.address, monotonic() + greeting_s
        stranger = f"what listens at {place} is not a hiermo server"
        check = "check the port, and start `hiermo measure --serve` there"
        try:
            # the name first: a stranger may send less than a greeting and wait
            greeting = _exactly(self._socket, len(NAME), deadline)
            if greeting == NAME:
                greeting += _exactly(self._socket, GREETING.size - len(NAME), deadline)
        except (Closed, ConnectionError):
            raise UserError(f"{stranger}: it closed the connection without a greeting; {check}") from None
        except TimeoutError:
            raise UserError(f"{stranger}: it did not greet within {greeting_s:g} s; {check}") from None
        if not greeting.startswith(NAME):
            raise UserError(f"{stranger}: it greets otherwise; {check}")
        _, version, room, challenge = GREETING.unpack(greeting)
        if version != VERSION:
            raise UserError(f"{place} is served by another version of hiermo; install the same one on both machines")
        if not room:
            raise UserError(f"{place} has as many clients as it takes; try again when they are done")
        with _unbroken(place, greeting_s):
            self._socket.sendall(PROOF.pack(NAME, _proof(token, challenge)))
            right, self.largest = VERDICT.unpack(_exactly(self._socket, VERDICT.size, deadline))
        if not right:
            raise UserError(f"{place} refused the token: give the --token that `hiermo measure --serve` printed there")


@contextmanager
def _unbroken(place: Address, silence_s: float) -> Iterator[None]:
    """What the network does wrong in between, as a sentence."""
    try:
        yield
    except TimeoutError:
        raise UserError(f"{place} fell silent for {silence_s:g} s in the middle; start again") from None
    except (Closed, OSError) as error:
        why = "it was closed there" if isinstance(error, Closed) else _said(error)
        raise UserError(f"the connection to {place} broke in the middle ({why}); start again") from None


def _connected(place: Address, timeout_s: float) -> socket.socket:
    try:
        return socket.create_connection(place, timeout_s)
    except (socket.gaierror, UnicodeError):
        raise UserError(f"there is no machine '{place.host}'; check --peer {place}") from None
    except ConnectionRefusedError:
        raise UserError(
            f"nobody listens at {place}: start `hiermo measure --serve` there, and use the --peer that it prints"
        ) from None
    except TimeoutError:
        raise UserError(f"{place} does not answer within {timeout_s:g} s: is it up, and no firewall between?") from None
    except OSError as error:
        raise UserError(f"{place} cannot be reached: {_said(error)}") from None


def _proof(token: str, challenge: bytes) -> bytes:
    return hmac.digest(token.encode(), NAME + challenge, "sha256")


def _exactly(connection: socket.socket, size: int, deadline: float | None = None) -> bytes:
    """So many bytes; all of them before the deadline, where there is one."""
    came = bytearray()
    while len(came) < size:
        if deadline is not None:
            if (left := deadline - monotonic()) <= 0:
                raise TimeoutError
            connection.settimeout(left)
        piece = connection.recv(size - len(came))
        if not piece:
            raise Closed(len(came))
        came += piece
    return bytes(came)


def _swallow(connection: socket.socket, size: int, buffer: memoryview) -> None:
    left = size
    while left:
        came = connection.recv_into(buffer, min(left, len(buffer)))
        if not came:
            raise Closed(size - left + REQUEST.size)  # its header has come at least
        left -= came


def _pour(connection: socket.socket, size: int) -> None:
    noise = memoryview(_noise())
    while size:
        size -= connection.send(noise[: min(size, len(noise))])


@cache
def _noise() -> bytes:
    return os.urandom(CHUNK)


def _broken(tally: Tally) -> str:
    return "broke off in the middle of a message" if tally.proved else "left before it gave a token"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.3g} MB" if size < 1e9 else f"{size / 1e6:,.0f} MB"


def _said(error: OSError) -> str:
    """The system's words, without what Python adds to them."""
    return (error.strerror or str(error) or type(error).__name__).partition(" (while")[0]
