"""A small stand-in for all the benchmark's sites and what is behind the map, over real HTTP."""

import json
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.webagent.made_up import Served
from tests.webagent.pages import png

ROUTE = json.dumps({"code": "Ok", "routes": [{"duration": 9.0}]})
PAGES: dict[str, tuple[str, bytes]] = {
    "/": ("text/html", b"<h1>Welcome</h1>"),
    "/customer/account/login/": ("text/html", b'<input name="login[username]">'),
    "/catalogsearch/result/": ("text/html", b"<h1>Search results for: 'shirt'</h1>"),
    "/admin": ("text/html", b'<input id="username" name="login[username]">'),
    "/login": ("text/html", b'<input name="_username"><label>username</label>'),
    "/search": ("text/html", b"<ul><li>Pittsburgh<cite>Pittsburgh is a city.</cite></li></ul>"),
    "/users/sign_in": ("text/html", b'<input name="user[login]">'),
    "/explore/projects": ("text/html", b"<h1>Projects</h1>"),
    "/nominatim/search": ("application/json", b'[{"display_name": "Pittsburgh"}]'),
    "/tiles/tile/12/1137/1544.png": ("image/png", png(256, 256)),
}


class Sites(Served):
    """Every path of PAGES on one port; `answers` says what a path answers instead."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        super().__init__(_Handler)
        self.hosts = {
            "shopping": self.url,
            "shopping_admin": f"{self.url}/admin",
            "reddit": self.url,
            "gitlab": self.url,
            "wikipedia": self.url,
            "map": self.url,
            "homepage": self.url,
        }
        self.backends = {
            "search": f"{self.url}/nominatim",
            "tiles": f"{self.url}/tiles",
            "car": f"{self.url}/car",
            "bike": f"{self.url}/bike",
            "foot": f"{self.url}/foot",
        }

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(path)
        if path in self.answers:
            return self.answers[path]
        if "/route/v1/" in path:
            return 200, {"content-type": "application/json"}, ROUTE.encode()
        if path in PAGES:
            kind, content = PAGES[path]
            return 200, {"content-type": kind}, content
        return 404, {}, b"none"


class _Handler(BaseHTTPRequestHandler):
    site: Sites

    def do_GET(self) -> None:
        status, headers, content = self.site.answer(urlsplit(self.path).path)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
