"""Capture what the pages show when a run ends, so that evaluators can score it offline."""

from __future__ import annotations

import re
from collections.abc import Mapping

from playwright.sync_api import Error, Page
from pydantic import JsonValue

from webagent.environment.browser import Hosts
from webagent.environment.network import check_destination
from webagent.trajectory.records import Json

MAX_TEXT_CHARS = 20_000
MAX_TARGET_CHARS = 500_000
MAX_TARGETS = 20
SETTLE_MS = 3000

# What BrowserGym writes into the page so as to find its elements again.
_OURS = re.compile(r' (?:bid|browsergym_\w+)="[^"]*"')
_JAVASCRIPT_LOCATORS = ("document.", "[...document.")


def capture_evidence(page: Page, evaluation: Json | None, hosts: Hosts) -> Json:
    """Where the run ended and what it showed there.

    `pages` has one entry per `program_html` target of the specification, in its order: the
    target's `url` and the `text` that its locator gave (Python's `str` of it: "None" for
    JavaScript's null, "" where the script failed), or null with a reason in `missing`.
    """
    text = _visible_text(page)
    evidence: dict[str, JsonValue] = {
        "final_url": page.url,
        "title": _title(page),
        "text": text[:MAX_TEXT_CHARS],
        "text_truncated": len(text) > MAX_TEXT_CHARS,
    }
    targets = (evaluation or {}).get("program_html")
    if isinstance(targets, list):
        pages: list[JsonValue] = []
        missing: dict[str, JsonValue] = {}
        for position, target in enumerate(targets[:MAX_TARGETS]):
            try:
                if not isinstance(target, Mapping):
                    raise ValueError("the target is no table")
                pages.append(_target_evidence(page, target, hosts))
            except (Error, ValueError) as error:
                pages.append(None)
                missing[str(position)] = str(error).split("\n")[0]
        evidence["pages"] = pages
        if missing:
            evidence["missing"] = missing
    return evidence


def _target_evidence(page: Page, target: Mapping[str, object], hosts: Hosts) -> JsonValue:
    url, locator = str(target.get("url", "")), str(target.get("locator") or "").strip()
    if url == "last":
        return _located(page, target, locator)
    if url.startswith("func:"):
        raise ValueError("the address is computed by a function of the benchmark")
    check_destination(url, hosts)
    visited = page.context.new_page()
    try:
        visited.goto(url)
        # Scripts of the page fill it in after loading; the benchmark waits as long.
        visited.wait_for_timeout(SETTLE_MS)
        return _located(visited, target, locator)
    finally:
        visited.close()


def _located(page: Page, target: Mapping[str, object], locator: str) -> JsonValue:
    if not locator:
        return _entry(page, _OURS.sub("", page.content()))
    if not locator.startswith(_JAVASCRIPT_LOCATORS):
        raise ValueError("the locator is computed by a function of the benchmark")
    preparations = target.get("prep_actions")
    for preparation in preparations if isinstance(preparations, list) else []:
        _evaluated(page, f"() => {preparation}")
    found = _evaluated(page, f"() => {locator}")
    return _entry(page, found)


def _evaluated(page: Page, script: str) -> str:
    """The value as `str` writes it; the empty string where the script failed."""
    try:
        return str(page.evaluate(script))
    except Error:
        return ""


def _entry(page: Page, text: str) -> JsonValue:
    entry: dict[str, JsonValue] = {"url": page.url, "text": text[:MAX_TARGET_CHARS]}
    if len(text) > MAX_TARGET_CHARS:
        entry["text_truncated"] = True
    return entry


def _visible_text(page: Page) -> str:
    try:
        return str(page.evaluate("() => document.body ? document.body.innerText : ''"))
    except Error:
        return ""


def _title(page: Page) -> str:
    try:
        return page.title()
    except Error:
        return ""
