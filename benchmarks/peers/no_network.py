"""Keeps what is imported after this from calling home: every connection that Python code tries is refused."""

import socket
from typing import NoReturn


def _refuse(*_: object, **__: object) -> NoReturn:
    raise ConnectionRefusedError("no_network.py: nothing is to be sent from this process")


socket.socket.connect = _refuse  # type: ignore[method-assign]
socket.socket.connect_ex = _refuse  # type: ignore[method-assign]
socket.getaddrinfo = _refuse
