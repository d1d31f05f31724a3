"""Short ways to state a task and an outcome."""

from collections.abc import Sequence

from judging.evaluators.matching.outcome import MatchOutcome, MatchTask


def string_task(references: object, intent: str = "", note: str | None = None) -> MatchTask:
    """A task whose answer is compared with `references`."""
    evaluation: dict[str, object] = {
        "eval_types": ["string_match"],
        "reference_answers": references,
    }
    if note is not None:
        evaluation["string_note"] = note
    return MatchTask(evaluation=evaluation, intent=intent)


def url_task(
    reference: object, host_aliases: tuple[tuple[str, ...], ...] = (), **more: object
) -> MatchTask:
    """A task whose final URL is compared with `reference`."""
    evaluation = {"eval_types": ["url_match"], "reference_url": reference, **more}
    return MatchTask(evaluation=evaluation, host_aliases=host_aliases)


def page_task(*required: object, locator: str = "document.body.outerText") -> MatchTask:
    """A task with one page target for each of `required`."""
    targets = [
        {"url": "last", "locator": locator, "required_contents": contents} for contents in required
    ]
    return MatchTask(evaluation={"eval_types": ["program_html"], "program_html": targets})


def answered(answer: str | None) -> MatchOutcome:
    """An outcome that consists of an answer."""
    return MatchOutcome(answer=answer)


def ended_at(url: str | None) -> MatchOutcome:
    """An outcome that consists of a final URL."""
    return MatchOutcome(final_url=url)


def showing(texts: Sequence[str | None]) -> MatchOutcome:
    """An outcome that consists of captured page texts."""
    return MatchOutcome(pages=tuple(texts))
