"""What the page showed when the run ended, as matchers read it.

`Run.evidence` holds `{"final_url": …, "pages": [{"text": …, "url": …} | null, …]}`: one page for
each `program_html` target of the task, in its order, null where it could not be read. `text` is
what the target's locator returned.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from judging.evaluators.matching.outcome import PageEvidence


class EvidenceError(ValueError):
    """The captured evidence is not of the form that it should have."""


class _Page(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str
    url: str = ""
    text_truncated: bool = False


class _Evidence(BaseModel):
    model_config = ConfigDict(extra="ignore")

    final_url: str | None = None
    pages: list[_Page | None] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Captured pages by `program_html` target. `is_cut`: one was too long to be kept whole."""

    final_url: str | None = None
    pages: tuple[PageEvidence | None, ...] = ()
    is_cut: bool = False


def read_evidence(evidence: object) -> Evidence:
    """The captured evidence; empty where nothing was captured.

    Raises:
        EvidenceError: it has another form.
    """
    if evidence is None:
        return Evidence()
    try:
        read = _Evidence.model_validate(evidence)
    except ValidationError as error:
        raise EvidenceError(str(error)) from error
    return Evidence(
        final_url=read.final_url,
        pages=tuple(
            None if page is None else PageEvidence(text=page.text, url=page.url)
            for page in read.pages
        ),
        is_cut=any(page is not None and page.text_truncated for page in read.pages),
    )
