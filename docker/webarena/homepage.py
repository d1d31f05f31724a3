"""The page from which tasks over several sites start: one link to each, where it is here."""

import html
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SITES = (
    ("One Stop Market", "SHOPPING_PORT", "/"),
    ("CMS of the market", "SHOPPING_ADMIN_PORT", "/admin"),
    ("Reddit", "FORUM_PORT", "/forums/all"),
    ("Gitlab", "GITLAB_PORT", "/explore"),
    ("Wikipedia", "WIKIPEDIA_PORT", "/"),
    ("OpenStreetMap", "MAP_PORT", "/"),
)


def page() -> bytes:
    """The page, with the addresses that the environment says."""
    host = os.environ.get("PUBLIC_HOST", "localhost")
    links = "\n".join(
        f'<li><a href="http://{html.escape(host)}:{html.escape(os.environ[port])}{path}">{name}</a>'
        for name, port, path in SITES
    )
    return f"<!doctype html><title>Homepage</title><h1>Homepage</h1><ul>{links}</ul>".encode()


class Handler(BaseHTTPRequestHandler):
    """Answers every address with the page."""

    def do_GET(self) -> None:
        content = page()
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    ThreadingHTTPServer(("0.0.0.0", 8000), Handler).serve_forever()  # noqa: S104 (in a container)
