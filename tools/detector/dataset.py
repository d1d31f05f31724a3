"""Pictures of MiniWoB++ with what is on them, to train the detector on and to test it.

    python -m tools.detector.dataset DIRECTORY

Each task is shown in a real browser as an agent sees it, with the seeds given, and then some
clicks further: menus open, boxes ticked, dialogs there. Between them come pages of our own, made
at random, to train on. The DOM says what is where.
Beside the pictures stands `pictures.jsonl`, one line a picture.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import playwright.sync_api

from tools.detector.labelled import INDEX, MADE, SEEN, TRAIN, UNSEEN
from tools.detector.photographer import Photographer
from tools.detector.tasks import seen_tasks, unseen_tasks
from webagent.environment import miniwob
from webagent.environment.browser import BrowserSettings, Hosts
from webagent.environment.browsergym_browsers import ChromiumLauncher
from webagent.environment.browsergym_environment import LocalSite

AT_ONCE = 4
# Any task: made pages are shown in the size and zoom of tasks.
ANCHOR = "miniwob.click-test"


def take_all(
    directory: Path, seeds: dict[str, range], tasks: dict[str, tuple[str, ...]], made: range
) -> int:
    """Take every picture into the directory, and say how many they are."""
    directory.mkdir(parents=True, exist_ok=True)
    site = LocalSite(miniwob.pages_directory())
    hosts = Hosts(local={miniwob.HOST: site.address})
    count = 0
    try:
        with (
            playwright.sync_api.sync_playwright() as started,
            (directory / INDEX).open("w", buffering=1) as index,
        ):
            launcher = ChromiumLauncher(started, BrowserSettings(), hosts)
            browser = launcher.launch(headless=True)
            page = browser.new_page()
            page.set_default_timeout(5000)
            photographer = Photographer(page, directory)
            # A few seeds of all tasks at a time: half of the work is a smaller set of all.
            rounds = range(0, max(map(len, seeds.values())), AT_ONCE)
            for first in rounds:
                for part, names in tasks.items():
                    for name in names:
                        some = seeds[part][first : first + AT_ONCE]
                        count += _take(photographer, name, some, part, index)
                photographer.open(ANCHOR, 0)
                count += _take_made(photographer, made[first // AT_ONCE :: len(rounds)], index)
            browser.close()
    finally:
        site.close()
    return count


def _take(
    photographer: Photographer, name: str, seeds: Sequence[int], part: str, index: TextIO
) -> int:
    count = 0
    for number, seed in enumerate(seeds):
        # Tests are on pages as they are; training sees every second one in another design.
        styled = part == TRAIN and seed % 2 == 1
        try:
            if number == 0 or part != TRAIN:
                photographer.open(name, seed)
            else:
                photographer.start_again(seed)
            for picture in photographer.pictures(name, seed, part, styled=styled):
                index.write(picture.line() + "\n")
                count += 1
        except playwright.sync_api.Error as error:
            sys.stderr.write(f"{name}, seed {seed}: {str(error).splitlines()[0]}\n")
    return count


def _take_made(photographer: Photographer, seeds: Sequence[int], index: TextIO) -> int:
    count = 0
    for seed in seeds:
        try:
            photographer.open_made(seed)
            pictures = photographer.pictures(MADE, seed, TRAIN, styled=False, most_clicks=seed % 2)
            for picture in pictures:
                index.write(picture.line() + "\n")
                count += 1
        except playwright.sync_api.Error as error:
            sys.stderr.write(f"made page {seed}: {str(error).splitlines()[0]}\n")
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tools.detector.dataset")
    parser.add_argument("directory", type=Path, help="where the pictures go")
    parser.add_argument("--seeds", type=int, default=24, help="of each task to train on")
    parser.add_argument("--test-seeds", type=int, default=6, help="of each task to test on")
    parser.add_argument("--first-seed", type=int, default=100_000, help="to train on")
    parser.add_argument("--made", type=int, default=1000, help="pages of our own to train on")
    parser.add_argument("--tasks", help="only these, with commas between them")
    arguments = parser.parse_args()
    # The seeds of the tests are none of those trained on, and none that runs usually have.
    tests = range(1_000_000, 1_000_000 + arguments.test_seeds)
    first = arguments.first_seed
    seeds = {TRAIN: range(first, first + arguments.seeds), SEEN: tests, UNSEEN: tests}
    tasks = {TRAIN: seen_tasks(), SEEN: seen_tasks(), UNSEEN: unseen_tasks()}
    if arguments.tasks:
        wanted = {f"miniwob.{name}" for name in arguments.tasks.split(",")}
        tasks = {part: tuple(t for t in names if t in wanted) for part, names in tasks.items()}
    count = take_all(arguments.directory, seeds, tasks, range(first, first + arguments.made))
    sys.stdout.write(f"{count} pictures in {arguments.directory}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
