"""Local server of one page, and of others by name: it reads request headers only and serves nothing but these pages.

Bound to 127.0.0.1. The Host header must be its own (against DNS rebinding), and requests of other pages (Origin,
Sec-Fetch-Site) are refused. It serves no files.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType, TracebackType

from draisine.errors import ArgumentError, ToolError
from draisine.studio.page import Page

HOST = "127.0.0.1"
_PATHS = ("/", "/index.html")
_LONGEST = 2000  # characters of a path
_TIMEOUT = 10.0  # s for a request to arrive


class Server:
    """Serves the page at `address` until closed; scripts call `wait()`. `others` are pages by name, made when asked for."""

    def __init__(self, page: Page, port: int = 0, others: Mapping[str, Callable[[], Page]] = MappingProxyType({})) -> None:
        if not 0 <= port <= 65535:
            raise ArgumentError(f"port must be from 0 (any free port) to 65535, got {port}")
        try:
            self._http = _Http((HOST, port), _Handler)
        except OSError as problem:
            why = problem.strerror or problem
            raise ToolError(f"cannot serve at {HOST}:{port} ({why}); leave out the port for a free one") from None
        self._http.page, self._http.others, self._http.made, self._http.making = page, others, {}, threading.Lock()
        self._thread = threading.Thread(target=self._http.serve_forever, name="draisine-studio", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/"

    def wait(self) -> None:
        """Block until closed or interrupted."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<studio at {self.address}>"


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = False
    page: Page
    others: Mapping[str, Callable[[], Page]]
    made: dict[str, Page]
    making: threading.Lock

    def page_at(self, path: str) -> Page | None:
        """The page of a path, or None."""
        if path in _PATHS:
            return self.page
        name = path.removeprefix("/")
        if name not in self.others:
            return None
        with self.making:
            if name not in self.made:
                self.made[name] = self.others[name]()
            return self.made[name]

    def handle_error(self, request: object, client_address: object) -> None:
        """Closed connections are ignored; other errors are reported."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def names(self) -> tuple[str, ...]:
        port = self.server_address[1]
        return f"{HOST}:{port}", f"localhost:{port}"


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    server_version = "draisine"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT

    def do_GET(self) -> None:
        refused = self._refused()
        if refused is not None:
            self._answer(*refused)
            return
        page = self.server.page_at(self.path.partition("?")[0])
        if page is not None:
            self._answer(HTTPStatus.OK, page.text, "text/html; charset=utf-8", policy=page.policy)
        else:
            self._answer(HTTPStatus.NOT_FOUND, "the studio is at /\n")

    do_HEAD = do_GET

    def _refuse_method(self) -> None:
        self._answer(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are supported\n", allow=True)

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = _refuse_method

    def _refused(self) -> tuple[HTTPStatus, str] | None:
        hosts, names = self.headers.get_all("Host", []), self.server.names
        if len(hosts) != 1 or hosts[0].strip().lower() not in names:
            return HTTPStatus.FORBIDDEN, f"wrong host; the studio is {' or '.join(names)}\n"
        if any(origin.strip() not in [f"http://{name}" for name in names] for origin in self.headers.get_all("Origin", [])):
            return HTTPStatus.FORBIDDEN, "requests of other origins are refused\n"
        # links of other sites are allowed; their scripts, frames and images are not
        elsewhere = self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
        if elsewhere and self.headers.get("Sec-Fetch-Dest", "") != "document":
            return HTTPStatus.FORBIDDEN, "the studio cannot be embedded in other pages\n"
        if len(self.path) > _LONGEST:
            return HTTPStatus.REQUEST_URI_TOO_LONG, "the address is too long\n"
        return None

    def _answer(
        self,
        status: HTTPStatus,
        text: str,
        kind: str = "text/plain; charset=utf-8",
        *,
        allow: bool = False,
        policy: str = "default-src 'none'",
    ) -> None:
        body = text.encode()
        self.close_connection = True  # a request body is not read
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": f"{policy}; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cache-Control": "no-store",
            "Connection": "close",
            **({"Allow": "GET, HEAD"} if allow else {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """No log."""
