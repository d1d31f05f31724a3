"""What the page showed when the run ended, as matchers read it.

`Run.evidence` holds `{"pages": [{"text": …, "url": …} | null, …]}`: one entry for each
`program_html` target of the task, in its order, null where the page could not be read. `text`
is what the target's locator returned.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError

from judging.matching.outcome import PageEvidence


class EvidenceError(ValueError):
    """The captured evidence is not of the form that it should have."""


class _Page(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str
    url: str = ""


class _Evidence(BaseModel):
    model_config = ConfigDict(extra="ignore")

    pages: list[_Page | None] = []


def read_pages(evidence: object) -> tuple[PageEvidence | None, ...]:
    """Captured pages by `program_html` target; empty where nothing was captured.

    Raises:
        EvidenceError: the evidence has another form.
    """
    if evidence is None:
        return ()
    try:
        pages = _Evidence.model_validate(evidence).pages
    except ValidationError as error:
        raise EvidenceError(str(error)) from error
    return tuple(
        None if page is None else PageEvidence(text=page.text, url=page.url) for page in pages
    )
