"""Every page of the demo against WCAG 2.2 AA (by axe); and none is wider than the screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import Page

from judging.audits.cells import Shown, items_in_cells
from judging.models import Dispute, EvaluatorVersion, Study
from judging.services.demo import load_demo
from runs.models import Run, User
from tests.browser.conftest import OpenPage

pytestmark = pytest.mark.browser

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def addresses() -> Iterator[tuple[str | None, str]]:
    """Whose eyes, and which page: each page once, with content wherever the demo has some."""
    study = Study.objects.get(name__contains="library")
    strict = EvaluatorVersion.objects.get(name="webarena-strict")
    looping = Run.objects.filter(has_anomaly=True).latest("n_steps")
    yield None, reverse("login")
    for name in ("annotator1", "adjudicator"):
        yield name, reverse("judging:home")
        yield name, reverse("judging:study_detail", args=[study.pk])
    yield "annotator1", reverse("judging:annotate", args=[study.pk])
    yield "annotator1", reverse("judging:audit_home")  # refused
    for dispute in Dispute.objects.filter(item__study=study):
        yield "adjudicator", reverse("judging:dispute_detail", args=[dispute.pk])
    for page in ("home", "study_list", "study_create", "audit_home"):
        yield "engineer", reverse(f"judging:{page}")
    for page in ("run_list", "experiment_list", "rerun_list", "import_list"):
        yield "engineer", reverse(f"runs:{page}")
    yield "engineer", reverse("runs:run_list") + "?q=nothing+like+this"
    yield "engineer", reverse("runs:run_detail", args=[looping.pk])
    yield "engineer", reverse("runs:run_rerun", args=[looping.pk])
    yield "engineer", reverse("judging:study_detail", args=[study.pk])
    yield "engineer", reverse("judging:audit", args=[study.pk])
    for cell in ("fn", "tp-fp"):
        yield "engineer", reverse("judging:audit_cells", args=[study.pk, strict.pk, cell])
    for page in ("audit_triangle", "audit_compare", "audit_people", "audit_causes"):
        yield "engineer", reverse(f"judging:{page}", args=[study.pk])
    yield "engineer", reverse("judging:what_if", args=[study.pk]) + "?off=sentence"
    error = items_in_cells(study, strict, [Shown.FN]).values_list("run", flat=True)[0]
    walk = f"?study={study.pk}&audit={strict.pk}&cell=fn"
    yield "engineer", reverse("runs:run_detail", args=[error]) + walk
    yield "engineer", reverse("judging:cause_tag", args=[study.pk, strict.pk, error]) + walk
    yield "engineer", "/nowhere/"


def faults(page: Page) -> Iterator[str]:
    """What is wrong with the page, each fault in a line."""
    found = Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"]})
    for fault in found.response["violations"]:
        for node in fault["nodes"]:
            yield f"{fault['id']} at {node['target']}: {node['failureSummary']}"
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > page.evaluate("innerWidth"):
        yield f"is {width} pixels wide"


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_no_page_shuts_anybody_out(open_page: OpenPage, width: int, theme: str) -> None:
    load_demo()
    pages: dict[str | None, Page] = {}
    wrong = []
    for user, path in addresses():
        if user not in pages:
            account = User.objects.get(username=user) if user else None
            pages[user] = open_page("/login/", account, width=width, theme=theme)
        page = pages[user]
        page.goto(path)
        page.wait_for_load_state("networkidle")
        wrong += [f"{path} for {user}: {fault}" for fault in faults(page)]
    assert wrong == []
