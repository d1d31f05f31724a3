"""`python -m webagent.client resend FOLDER`: send what lies in a spool."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .api import Client
from .spool import SPOOL, resend


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="webagent.client", description="Send what lies in a spool."
    )
    parser.add_argument("command", choices=["resend"])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(SPOOL))
    parser.add_argument("--url", default=os.environ.get("CROSSCHECK_URL"))
    given = parser.parse_args(arguments)
    token = os.environ.get("CROSSCHECK_TOKEN")
    if not given.url or not token:
        parser.error("set CROSSCHECK_URL (or --url) and CROSSCHECK_TOKEN")
    became = resend(Client(given.url, token), given.folder)
    for name, words in became.items():
        sys.stdout.write(f"{name}: {words}\n")
    return int(any(words.startswith("stays") for words in became.values()))


if __name__ == "__main__":
    sys.exit(main())
