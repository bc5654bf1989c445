"""Messages over real sockets of this machine, and what peers do that break off, lie, or know no token."""

from contextlib import closing, contextmanager, suppress
import socket
import subprocess
import sys
from threading import Thread
import time
import tracemalloc

import pytest

from hiermo.clock.transfer import (
    CHUNK,
    DOWN,
    GREETING,
    NAME,
    PING,
    PROOF,
    REQUEST,
    UP,
    VERDICT,
    VERSION,
    Address,
    Client,
    Closed,
    Server,
    address,
)
from hiermo.clock.transfer import _exactly as exactly
from hiermo.clock.transfer import _proof as proof_of
from hiermo.core.errors import UserError

HERE, TOKEN = Address("127.0.0.1", 0), "only we know it"
SIZES = (0, 1, CHUNK, 3 * CHUNK + 5)


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@contextmanager
def serving(place=HERE, **options):
    """A server in a thread, and what it told."""
    told = []
    with Server(place, TOKEN, tell=told.append, **options) as server:
        thread = Thread(target=server.serve)
        thread.start()
        try:
            yield server, told
        finally:
            server.close()
            thread.join()


@contextmanager
def posing(act, connections=1):
    """Something else that listens; `act(connection)` is what it does to each that comes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run():
            for _ in range(connections):
                connection, _ = listener.accept()
                with connection:
                    act(connection)

        thread = Thread(target=run)
        thread.start()
        try:
            yield Address(*listener.getsockname())
        finally:
            thread.join()


def greet(connection, version=VERSION):
    """As a server does, whatever the token."""
    connection.sendall(GREETING.pack(NAME, version, True, bytes(32)))
    exactly(connection, PROOF.size)
    connection.sendall(VERDICT.pack(True, 1 << 30))


@contextmanager
def raw(server, proof=None):
    """A connection without a client; with a `proof` of the challenge, past the greeting."""
    with socket.create_connection(server.address, 30) as connection:
        challenge = GREETING.unpack(exactly(connection, GREETING.size))[-1]
        if proof is not None:
            connection.sendall(PROOF.pack(NAME, proof(challenge)))
        yield connection


@contextmanager
def known(server):
    """Past the verdict too."""
    with raw(server, lambda challenge: proof_of(TOKEN, challenge)) as connection:
        assert VERDICT.unpack(exactly(connection, VERDICT.size)) == (1, server.largest)
        yield connection


def is_closed(connection):
    """By the other end, and nothing more came."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def end_of(connection):
    """Nothing more will be sent."""
    with suppress(OSError):  # the other end has closed it already
        connection.shutdown(socket.SHUT_WR)


def still_serves(server):
    with Client(server.address, TOKEN) as client:
        return client.up(10) > 0


@pytest.mark.parametrize(
    ("text", "host", "expected"),
    [
        ("10.0.0.1:5000", None, Address("10.0.0.1", 5000)),
        ("pi-4.local:1", None, Address("pi-4.local", 1)),
        ("[::1]:65535", None, Address("::1", 65535)),
        ("[fe80::1%eth0]:7", None, Address("fe80::1%eth0", 7)),
        ("5000", "127.0.0.1", Address("127.0.0.1", 5000)),
        ("0.0.0.0:5000", "127.0.0.1", Address("0.0.0.0", 5000)),
    ],
)
def test_addresses(text, host, expected):
    assert address(text, "--peer", host) == expected
    if host is None:
        assert str(expected) == text


@pytest.mark.parametrize("text", ["", "host", "5000", ":5000", "host:", "host:0", "h:65536", "h:-1", "::1:80", "a b:1"])
def test_what_is_no_address(text):
    with pytest.raises(UserError, match=f"^--peer {text}: write HOST:PORT, as in"):
        address(text, "--peer")


def test_messages_of_all_sizes():
    with serving() as (server, told), Client(server.address, TOKEN) as client:
        assert client.ping() > 0
        assert all(send(size) > 0 for size in SIZES for send in (client.up, client.down))
        client.close()
        wait_for(lambda: told)
        (line,) = told
        assert line.startswith("127.0.0.1:")
        assert line.endswith(f": 8 messages, {sum(SIZES) / 1e6:.3g} MB in, {sum(SIZES) / 1e6:.3g} MB out")
        assert server.clients == 1


def test_a_message_is_never_in_memory_as_a_whole():
    with serving() as (server, _), Client(server.address, TOKEN) as client:
        client.up(1)
        tracemalloc.start()
        try:
            client.up(64 << 20)
            client.down(64 << 20)
            assert tracemalloc.get_traced_memory()[1] < 8 * CHUNK
        finally:
            tracemalloc.stop()


def test_who_only_looks_is_not_told():
    with serving() as (server, told):
        Client(server.address, TOKEN).close()
        wait_for(lambda: not server._open)
        assert not told
        assert server.clients == 0


def test_version_6_of_the_internet_protocol():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no ::1")
    with serving(Address("::1", 0)) as (server, _):
        assert str(server.address) == f"[::1]:{server.address.port}"
        assert still_serves(server)


def test_a_wrong_token():
    with serving() as (server, told):
        with pytest.raises(UserError, match=rf"^{server.address} refused the token: give the --token that"):
            Client(server.address, "guessed")
        wait_for(lambda: told)
        assert told[0].endswith(": wrong token; connection closed")
        assert TOKEN not in told[0] and "guessed" not in told[0]
        assert still_serves(server)


def test_a_proof_is_good_for_one_challenge():
    with serving() as (server, told):
        old = []
        with raw(server, lambda challenge: old.append(proof_of(TOKEN, challenge)) or old[0]) as first:
            assert VERDICT.unpack(exactly(first, VERDICT.size))[0] == 1
        with raw(server, lambda challenge: old[0]) as second:
            assert VERDICT.unpack(exactly(second, VERDICT.size))[0] == 0
            assert is_closed(second)
        wait_for(lambda: told)
        assert told[0].endswith(": wrong token; connection closed")


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        (b"GET / HTTP/1.1\r\nHost: somewhere.example.org\r\n\r\n", "does not speak as hiermo does"),
        (b"GET", "left before it gave a token"),
        (b"", "left before it gave a token"),
    ],
)
def test_who_does_not_speak_as_hiermo_does(sent, fault):
    with serving() as (server, told):
        with raw(server) as connection:
            connection.sendall(sent)
            end_of(connection)
            assert is_closed(connection)
        wait_for(lambda: told)
        assert len(told) == 1
        assert f": {fault}" in told[0] and told[0].endswith("; connection closed")
        assert still_serves(server)


@pytest.mark.parametrize(
    ("sent", "answer", "fault"),
    [
        (REQUEST.pack(UP, 1 << 63), b"\x00", f"announced a message of {1 << 63} bytes, more than 1000"),
        (REQUEST.pack(DOWN, 1001), b"\x00", "announced a message of 1001 bytes, more than 1000"),
        (REQUEST.pack(9, 1), b"", "asked for something unknown"),
        (REQUEST.pack(UP, 1000) + b"half", b"\x01", "broke off in the middle of a message"),
        (REQUEST.pack(UP, 1000), b"\x01", "broke off in the middle of a message"),
        (REQUEST.pack(PING, 0)[:4], b"", "broke off in the middle of a message"),
    ],
)
def test_what_a_client_that_knows_the_token_may_not_do(sent, answer, fault):
    with serving(largest=1000) as (server, told):
        with known(server) as connection:
            connection.sendall(sent)
            end_of(connection)
            assert exactly(connection, len(answer)) == answer
            assert is_closed(connection)
        wait_for(lambda: told)
        assert len(told) == 1
        assert f": {fault}" in told[0]
        assert still_serves(server)


def test_silence_and_dripping_before_the_token_end():
    with serving(greeting_s=0.2) as (server, told):
        with raw(server) as silent:
            assert is_closed(silent)
        with raw(server) as dripping, pytest.raises(OSError):
            for _ in range(1000):  # a byte in time, each time
                dripping.sendall(NAME[:1])
                time.sleep(0.02)
        wait_for(lambda: len(told) == 2)
        assert all(": silent for 0.2 s; connection closed" in line for line in told)


def test_silence_in_the_middle_ends():
    with serving(silence_s=0.2) as (server, told):
        with known(server) as stuck:
            stuck.sendall(REQUEST.pack(UP, 1000) + b"then nothing")
            assert exactly(stuck, 1) == b"\x01"
            assert is_closed(stuck)
        wait_for(lambda: told)
        assert told[0].endswith(": silent for 0.2 s; connection closed")


def test_more_connections_than_there_is_room_for():
    with serving(most=2) as (server, told), Client(server.address, TOKEN), Client(server.address, TOKEN) as second:
        with pytest.raises(UserError, match=rf"^{server.address} has as many clients as it takes; try again"):
            Client(server.address, TOKEN)
        wait_for(lambda: told)
        assert told[0].endswith(": turned away, 2 others are connected")
        second.close()
        wait_for(lambda: len(server._open) < 2)
        assert still_serves(server)


def test_many_at_once():
    def measure(server, found):
        with Client(server.address, TOKEN) as client:
            found += [send(100_000) for _ in range(5) for send in (client.up, client.down)]

    with serving() as (server, told):
        found = []
        threads = [Thread(target=measure, args=(server, found)) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 120 and min(found) > 0
        wait_for(lambda: len(told) == 12)
        assert all(line.endswith(": 10 messages, 0.5 MB in, 0.5 MB out") for line in told)
        assert server.clients == 12


KILLED = """
import sys, time
from hiermo.clock.transfer import UP, Address, Client
client = Client(Address("127.0.0.1", int(sys.argv[1])), sys.argv[2])
client.up(10)
client._ask(UP, 1000)
client._socket.sendall(b"half")
print("half of it is sent", flush=True)
time.sleep(60)
"""


def test_a_client_that_is_killed_in_the_middle():
    with serving() as (server, told):
        words = [sys.executable, "-c", KILLED, str(server.address.port), TOKEN]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "half of it is sent\n"
            process.kill()
        wait_for(lambda: told)
        (line,) = told
        assert ": 1 message, 1e-05 MB in, 0 MB out; broke off in the middle of a message" in line
        assert still_serves(server)


def test_closing_ends_everything():
    with serving() as (server, told), Client(server.address, TOKEN) as client:
        client.ping()
        server.close()
        with pytest.raises(UserError, match=rf"^the connection to {server.address} broke in the middle \(.+\); start"):
            client.up(CHUNK)
        assert not server._open
        assert not told
    with pytest.raises(UserError, match=f"^nobody listens at {server.address}: start `hiermo measure --serve` there"):
        Client(server.address, TOKEN)


def test_a_teller_that_is_gone_stops_nothing():
    def gone(sentence):
        raise BrokenPipeError

    with serving() as (server, _):
        server._teller = gone
        assert still_serves(server)
        assert still_serves(server)


def test_where_one_cannot_listen():
    with serving() as (server, _):
        with pytest.raises(UserError, match=rf"^--serve {server.address}: cannot listen there: \w[\w ]+$"):
            Server(server.address, TOKEN)
        with pytest.raises(
            UserError, match=r"^--serve a\.\.b:0: there is no machine 'a\.\.b'; name an address of this"
        ):
            Server(Address("a..b", 0), TOKEN)


def test_a_machine_that_does_not_exist():
    with pytest.raises(UserError, match=r"^there is no machine 'a\.\.b'; check --peer a\.\.b:5000$"):
        Client(Address("a..b", 5000), TOKEN)


def silent(connection):
    connection.recv(1)  # until the client has gone


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda c: c.sendall(b"SSH-2.0-OpenSSH_9.6\r\n"), "is not a hiermo server: it greets otherwise"),
        (lambda c: c.sendall(b"hi"), "is not a hiermo server: it closed the connection without a greeting"),
        (lambda c: None, "is not a hiermo server: it closed the connection without a greeting"),
        (silent, "is not a hiermo server: it did not greet within 0.3 s"),
        (lambda c: greet(c, version=99), "is served by another version of hiermo; install the same one on both"),
    ],
)
def test_what_is_not_a_server(act, said):
    def tolerant(connection):
        with suppress(ConnectionError, Closed):  # the client did not wait for all of it
            act(connection)

    with posing(tolerant) as place:
        with pytest.raises(UserError, match=said) as refused:
            Client(place, TOKEN, **({"greeting_s": 0.3} if act is silent else {}))
        assert str(place) in str(refused.value)


def leave_in_the_greeting(connection):
    connection.sendall(GREETING.pack(NAME, VERSION, True, bytes(32)))
    exactly(connection, PROOF.size)


def test_a_server_that_leaves_in_the_greeting():
    said = r"^the connection to 127.0.0.1:\d+ broke in the middle \(it was closed there\); start again$"
    with posing(leave_in_the_greeting) as place, pytest.raises(UserError, match=said):
        Client(place, TOKEN)


@pytest.mark.parametrize(
    ("kind", "answer"), [("ping", b""), ("up", b""), ("up", b"\x01"), ("down", b"\x01"), ("down", b"\x01half")]
)
@pytest.mark.parametrize("how", ["closes", "falls silent"])
def test_a_server_that_breaks_off(kind, answer, how):
    def act(connection):
        greet(connection)
        exactly(connection, REQUEST.size)
        connection.sendall(answer)
        while how == "falls silent" and connection.recv(CHUNK):
            pass

    said = r"the connection to \S+:\d+ broke in the middle \(.+\)", r"\S+:\d+ fell silent for 0.2 s in the middle"
    wait = {"silence_s": 0.2} if how == "falls silent" else {}
    with (
        posing(act) as place,
        Client(place, TOKEN, **wait) as client,
        pytest.raises(UserError, match=said[bool(wait)]),
    ):
        client.ping() if kind == "ping" else getattr(client, kind)(10 * CHUNK)


def test_a_message_that_is_refused():
    def act(connection):
        greet(connection)
        exactly(connection, REQUEST.size)
        connection.sendall(b"\x00")

    with posing(act) as place, Client(place, TOKEN) as client:
        with pytest.raises(UserError, match=f"^{place} takes messages of at most {1 << 30} bytes, and this one has"):
            client.up((1 << 30) + 1)
        with pytest.raises(UserError, match=f"^{place} refused a message of 1000 bytes$"):
            client.up(1000)


def test_small_messages_are_not_held_back():
    with serving() as (server, _), closing(Client(server.address, TOKEN)) as client:
        assert client._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
