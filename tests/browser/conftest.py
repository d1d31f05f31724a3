"""A real headless Chromium in front of a real server, for tests of what scripts do."""

import os
from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page, expect, sync_playwright

from runs.models import User
from tests.runs.factories import client_of
from tests.windowless import windowless
from webagent.environment.browser import Hosts, chromium_arguments, find_chromium

OpenPage = Callable[..., Page]

expect.set_options(timeout=30_000)  # as long as an action may take: the machine may be busy


@pytest.fixture(scope="package", autouse=True)
def without_windows() -> Iterator[None]:
    """Also for what servers and workers of these tests start."""
    with windowless():
        yield


@pytest.fixture(scope="package")
def chromium(without_windows: None) -> Iterator[Browser]:
    """One browser for the tests of this folder; every page gets a context of its own.

    No longer than that: elsewhere, tests count the browsers that are left.
    """
    # Playwright's event loop runs in this thread, and the ORM is used beside it, not within it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        path = find_chromium(playwright_path=playwright.chromium.executable_path)
        flags = chromium_arguments(Hosts(frozenset({"localhost", "127.0.0.1"})), ["--no-sandbox"])
        browser = playwright.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()
    os.environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE")


@pytest.fixture
def open_page(chromium: Browser, live_server: object, transactional_db: None) -> Iterator[OpenPage]:
    """Opens `path` as `user`; fails the test if a page's script failed, the policy was broken, or
    anything was asked of another server.
    """
    problems: list[str] = []
    contexts = []

    def open_(
        path: str,
        user: User | None = None,
        width: int = 1440,
        height: int = 900,
        theme: str = "light",
    ) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if theme == "dark" else "light",
            base_url=str(live_server),
        )
        contexts.append(context)
        if user:
            client = client_of(user)
            key = client.cookies[settings.SESSION_COOKIE_NAME].value
            context.add_cookies(
                [{"name": settings.SESSION_COOKIE_NAME, "value": key, "url": str(live_server)}]
            )
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda message: (
                problems.append(message.text)
                if "Content Security Policy" in message.text or "TypeError" in message.text
                else None
            ),
        )
        page.on(
            "request", lambda request: problems.extend(_elsewhere(request.url, str(live_server)))
        )
        page.goto(path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not problems


def _elsewhere(address: str, home: str) -> list[str]:
    """The request, if it leaves the server."""
    inside = address.startswith((f"{home}/", "data:", "blob:", "about:"))
    return [] if inside else [f"asked {address[:200]}"]
