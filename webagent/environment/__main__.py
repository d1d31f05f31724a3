"""`python -m webagent.environment`: which Chromium would be driven; exits with 1 without one."""

import sys

import playwright.sync_api

from webagent.environment.browser import BrowserNotFound, find_chromium


def main() -> int:
    """Print the path of the Chromium that runs use, or on standard error why none can be driven."""
    try:
        with playwright.sync_api.sync_playwright() as running:
            own = running.chromium.executable_path
    except Exception as error:  # noqa: BLE001 (whatever keeps its driver from starting)
        sys.stderr.write(f"Playwright cannot start: {error}\n")
        return 1
    try:
        sys.stdout.write(f"{find_chromium(playwright_path=own)}\n")
    except BrowserNotFound as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
