"""Services that answer every request with the same trouble, counted."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class BadService:
    address: str = ""
    n_asked: int = 0


@contextmanager
def bad_service(*, status: int = 500, delay_s: float = 0) -> Iterator[BadService]:
    """One that answers with the status, after so many seconds."""
    told = BadService()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            told.n_asked += 1
            time.sleep(delay_s)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_HEAD = do_PUT = answer

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        told.address = f"http://127.0.0.1:{server.server_address[1]}"
        yield told
        server.shutdown()
