"""Logs of runs for tests, on a library's site."""

from webagent.knowledge.entries import LogStep, RunLog


def step(index: int, action: str = "noop(1000)", **more: object) -> LogStep:
    """A step; what is not said is empty."""
    return LogStep(index=index, action=action, **more)  # type: ignore[arg-type]


def copies() -> RunLog:
    """Somebody asks for the copies of a book, and clicks a heading in vain."""
    return RunLog(
        run="run-1",
        task="copies",
        goal='How many copies of "The Salt Road" by Ines Calder are available?',
        site="library",
        steps=(
            step(0, "click('a187')", bids=("a187",), labels=("Catalogue",), title="Welcome"),
            step(
                1,
                "fill('b42', 'salt road calder')",
                bids=("b42",),
                labels=("Search the catalogue",),
                typed=("salt road calder",),
                title="Catalogue - Library",
                thought="I type it into b42.",
                changed=False,
            ),
            step(
                2,
                "click('a401')",
                bids=("a401",),
                labels=("INC0000026",),
                url="http://library.test/books/the-salt-road?shelf=north%20wing",
                title="Catalogue - Library",
            ),
            step(3, "send_msg_to_user('2 copies')", said=("2 copies",)),
            step(
                4, "send_msg_to_user(…)", said=("The book is reserved.", "Ask at Tidewater first")
            ),
        ),
    )


def hours() -> RunLog:
    """Another task on the same site."""
    return RunLog(
        run="run-2",
        task="hours",
        goal="When does the library close on Sundays?",
        site="library",
        steps=(
            step(0, "click('12')", bids=("12",), labels=("Catalogue",), title="Welcome"),
            step(1, "click('b42')", bids=("b42",), labels=("Opening hours",), title="Hours"),
        ),
    )
