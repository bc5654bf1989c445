"""The live page on this machine alone: an address of loopback, GET and HEAD, and three things that can be asked for."""

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hiermo.core.errors import UserError
from hiermo.report.page.html import own_script, plotly_script, policy, rendered
from hiermo.report.page.live import LiveStore

HOST = "127.0.0.1"
ALLOWED = ("GET", "HEAD")


class PageServer(ThreadingHTTPServer):
    """Serves what a store holds now."""

    daemon_threads = True

    def __init__(self, store: LiveStore, port: int = 0) -> None:
        self.store = store
        self.plotly = plotly_script().encode("utf-8")
        self.policy = policy([own_script()], served=True)
        try:
            super().__init__((HOST, port), Handler)
        except (OSError, OverflowError) as error:
            raise UserError(f"--port {port}: {getattr(error, 'strerror', None) or error}; name another") from None

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that was closed in the middle of an answer is no news."""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: PageServer
    server_version, sys_version = "hiermo", ""
    timeout = 30  # of a connection on which nothing is asked

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # all other methods
            return lambda: self._send(HTTPStatus.METHOD_NOT_ALLOWED, b"", {"Allow": ", ".join(ALLOWED)})
        raise AttributeError(name)

    def log_message(self, *words: Any) -> None:
        pass

    def _answer(self) -> None:
        # a page of elsewhere whose name was made to lead here sends that name: it must not read what runs here
        if self.headers.get("Host") not in (f"{HOST}:{self.server.port}", f"localhost:{self.server.port}"):
            self._send(HTTPStatus.FORBIDDEN, b"this address is for this machine alone\n")
            return
        match self.path.partition("?")[0]:
            case "/":
                page = rendered(self.server.store.told().data, plotly=None)
                self._send(HTTPStatus.OK, page.encode("utf-8"), {"Content-Type": "text/html; charset=utf-8"})
            case "/plotly.js":
                kept = {"Content-Type": "text/javascript; charset=utf-8", "Cache-Control": "max-age=86400"}
                self._send(HTTPStatus.OK, self.server.plotly, kept)
            case "/data.json":
                self._data()
            case _:
                self._send(HTTPStatus.NOT_FOUND, b"there is /, /plotly.js and /data.json\n")

    def _data(self) -> None:
        told = self.server.store.told()
        if self.headers.get("If-None-Match") == told.tag:
            self._send(HTTPStatus.NOT_MODIFIED, b"", {"ETag": told.tag})
            return
        self._send(HTTPStatus.OK, told.body, {"Content-Type": "application/json", "ETag": told.tag})

    def _send(self, status: HTTPStatus, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        told = {
            "Cache-Control": "no-cache",
            "Content-Type": "text/plain; charset=utf-8",
            "Content-Security-Policy": self.server.policy,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            **(headers or {}),
        }
        for name, value in told.items():
            self.send_header(name, value)
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET" and status != HTTPStatus.NOT_MODIFIED:
            self.wfile.write(body)
