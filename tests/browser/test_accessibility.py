"""Every page of the demo against WCAG 2.2 AA (by axe); and none is wider than the screen.

Each page is opened once, by each whose eyes see it differently, and looked at on a desk in the
light and on a phone in the dark.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.urls import reverse
from playwright.sync_api import Page, Request

from judging.analysis.audits.population import Shown, items_in_cells
from judging.demo import EXPERIMENT, hinted, recovery
from judging.demo.recovery import CAREFUL, FORGETFUL
from judging.demo.services import load_demo
from judging.models import Dispute, EvaluatorVersion, Study
from runs.models import Experiment, Hint, KnowledgeSet, RetryPolicy, Run, Task, User
from tests.browser.conftest import OpenPage

Screen = tuple[Literal["light", "dark"], int, int, Sequence[str]]
pytestmark = [pytest.mark.browser, pytest.mark.slow]

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
RULES_OF_SIGHT = (
    "aria-hidden-focus",
    "color-contrast",
    "link-in-text-block",
    "scrollable-region-focusable",
    "target-size",
)
"""Those that width and colours can make a difference to; the others are the markup's."""
DESK: Screen = ("light", 1440, 900, RULES)
PHONE: Screen = ("dark", 390, 844, RULES_OF_SIGHT)
QUIET_S = 0.08
"""A page that has asked for nothing so long has all that it asks for at once."""
PATIENCE_S = 20.0
KEEP_TWO_ALIKE = r"""() => {
  const looks = /^(class|role|scope|style|tabindex|type|aria-(current|disabled|hidden|sort))$/;
  const times = new Map();
  for (const element of document.querySelectorAll("tbody > tr, li, section > details")) {
    const markup = element.outerHTML.replace(/>[^<]*</g, "><").replace(
      / ([\w:-]+)="[^"]*"/g, (whole, name) => looks.test(name) ? whole : ` ${name}`);
    times.set(markup, (times.get(markup) ?? 0) + 1);
    if (times.get(markup) > 2) element.remove();
  }
}"""
"""Of rows with the same tags, classes and states a third has no other faults than the first two,
and most of axe's time would go into them."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """A page before somebody's eyes; `key` is pressed to get to what is meant."""

    user: str | None
    path: str
    key: str = ""


def sights() -> Iterator[Visibility]:
    """Each page once, with content wherever the demo has some."""
    yield Visibility(None, reverse("login"))
    study = Study.objects.get(is_demo=True)
    for name in ("annotator1", "adjudicator"):
        yield Visibility(name, reverse("judging:home"))
        yield Visibility(name, reverse("judging:study_detail", args=[study.pk]))
    yield Visibility("annotator1", reverse("judging:annotate", args=[study.pk]))
    yield Visibility("annotator1", reverse("judging:audit_home"))  # refused
    decided = dict(Dispute.objects.values_list("item__verdict__verdict", "pk"))
    assert decided.keys() == {None, "success", "failure"}
    for dispute in decided.values():  # one that is open, and one of each decision
        yield Visibility("adjudicator", reverse("judging:dispute_detail", args=[dispute]))
    for path, key in (*judging_pages(study), *run_pages(), *experiment_pages()):
        yield Visibility("engineer", path, key)
    yield Visibility("engineer", "/nowhere/")


def judging_pages(study: Study) -> Iterator[tuple[str, str]]:
    strict = EvaluatorVersion.objects.get(name="webarena-strict")
    error = items_in_cells(study, strict, [Shown.FN]).values_list("run", flat=True)[0]
    walk = f"?study={study.pk}&audit={strict.pk}&cell=fn"
    for page in ("home", "study_list", "study_create", "audit_home", "audit_newest", "batch_list"):
        yield reverse(f"judging:{page}"), ""
    for page in ("dispute_list", "overruled", "label_import_list", "replication_list"):
        yield reverse(f"judging:{page}"), ""
    for page in ("study_detail", "guidelines", "study_downloads", "audit", "audit_beside"):
        yield reverse(f"judging:{page}", args=[study.pk]), ""
    for group in ("infeasible", "unsettled"):
        yield reverse("judging:audit_left_out", args=[study.pk, group]), ""
    for cell in ("fn", "tp-fp"):
        yield reverse("judging:audit_cells", args=[study.pk, strict.pk, cell]), ""
    for page in ("triangle", "compare", "people", "causes", "evaluate", "failures", "progress"):
        yield reverse(f"judging:audit_{page}", args=[study.pk]), ""
    yield reverse("judging:audit_failure_runs", args=[study.pk]), ""
    yield reverse("judging:audit_detectors", args=[study.pk]), ""
    yield reverse("judging:what_if", args=[study.pk]) + "?off=sentence", ""
    yield reverse("runs:run_detail", args=[error]) + walk, ""
    yield reverse("judging:cause_tag", args=[study.pk, strict.pk, error]) + walk, ""


def run_pages() -> Iterator[tuple[str, str]]:
    looping = Run.objects.filter(has_anomaly=True, policy=None).latest("n_steps")
    runs = Run.objects.filter(experiment__name=recovery.NAME, task__external_id__contains="login")
    rescued, straight = (runs.filter(agent__model=model)[0] for model in (FORGETFUL, CAREFUL))
    for page in ("run_list", "rerun_list", "import_list", "infrastructure", "job_drawer"):
        yield reverse(f"runs:{page}"), ""
    for page in ("live_wall", "space", "audit_log", "token_list"):
        yield reverse(f"runs:{page}"), ""
    yield reverse("judging:palette") + "?q=demo", ""
    yield "/api/", ""
    yield reverse("password_change"), ""
    yield reverse("runs:run_list") + "?q=nothing+like+this", ""
    yield reverse("runs:run_detail", args=[looping.pk]), ""
    yield reverse("runs:run_detail", args=[rescued.pk]), "p"  # what its model was asked
    yield reverse("runs:run_compare") + f"?a={rescued.pk}&b={straight.pk}", ""
    yield reverse("runs:run_rerun", args=[looping.pk]), ""
    yield reverse("runs:task_list"), ""
    task = Task.objects.earliest("pk")
    for page in ("task_detail", "task_milestones"):
        yield reverse(f"runs:{page}", args=[task.pk]), ""
    yield reverse("judging:milestone_proposals", args=[task.pk]), ""
    for page in ("task_set_detail", "set_milestones"):
        yield reverse(f"runs:{page}", args=[task.task_set_id]), ""


def experiment_pages() -> Iterator[tuple[str, str]]:
    experiment = Experiment.objects.get(name=recovery.NAME)
    other = Experiment.objects.get(name=EXPERIMENT)
    policy = RetryPolicy.objects.get(name=recovery.POLICY)
    rules = RetryPolicy.objects.get(name="Rerun what failed")
    for page in ("experiment_list", "experiment_new", "hint_experiment_new"):
        yield reverse(f"runs:{page}"), ""
    for page in ("policy_list", "policy_new", "hint_list", "knowledge_list", "knowledge_extract"):
        yield reverse(f"runs:{page}"), ""
    yield reverse("judging:hint_write"), ""
    hint = Hint.objects.earliest("pk")
    yield reverse("runs:hint_job", args=[hint.job_id]), ""
    yield reverse("runs:hint_detail", args=[hint.pk]), ""
    for knowledge in KnowledgeSet.objects.filter(site="larkfield-shop"):
        yield reverse("runs:knowledge_detail", args=[knowledge.pk]), ""
        yield reverse("runs:knowledge_summarise", args=[knowledge.pk]), ""
        yield reverse("runs:knowledge_entry", args=[knowledge.entries.earliest("pk").pk]), ""
    for page in ("experiment_detail", "experiment_runs", "experiment_progress_rates"):
        yield reverse(f"judging:{page}", args=[experiment.pk]), ""
    yield reverse("judging:failure_causes", args=[experiment.pk]), ""
    told = Experiment.objects.get(name=hinted.NAME)
    for page in ("experiment_detail", "hint_report"):
        yield reverse(f"judging:{page}", args=[told.pk]), ""
    yield reverse("judging:hint_cell", args=[told.pk, "concrete", "same_site_highest"]), ""
    yield reverse("runs:retention", args=[experiment.pk]), ""
    for part in ("recovery", "trials", "failures", "controls"):
        yield reverse("judging:experiment_part", args=[experiment.pk, part]), ""
    yield reverse("judging:experiment_compare") + f"?a={other.pk}&b={experiment.pk}", ""
    for page in ("policy_detail", "policy_edit"):
        yield reverse(f"runs:{page}", args=[policy.pk]), ""
    study = Study.objects.get(is_demo=True)
    yield reverse("runs:policy_reruns") + f"?policy={rules.pk}&source=study:{study.pk}", ""


class Traffic:
    """The requests of a page that are on their way."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._under_way: set[Request] = set()
        self._last = time.monotonic()
        page.on("request", self._begun)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", self._ended)

    def wait_until_quiet(self) -> None:
        """Until nothing was asked for a moment. Pages that ask again and again do so later."""
        deadline = time.monotonic() + PATIENCE_S
        self._page.wait_for_timeout(20)
        while self._under_way or time.monotonic() - self._last < QUIET_S:
            assert time.monotonic() < deadline, self._under_way
            self._page.wait_for_timeout(20)

    def _begun(self, request: Request) -> None:
        self._under_way.add(request)
        self._last = time.monotonic()

    def _ended(self, request: Request) -> None:
        self._under_way.discard(request)
        self._last = time.monotonic()


def show(page: Page, traffic: Traffic, screen: Screen) -> None:
    """Have the page on that screen."""
    theme, width, height, _ = screen
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": height})
    # Where a page stands after that is chance, and whatever is under its head then counts as small.
    page.evaluate("window.scrollTo(0, 0)")
    traffic.wait_until_quiet()


def excess(page: Page) -> Iterator[str]:
    """Whether it is wider than the screen."""
    width, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    if width > room:
        yield f"is {width} pixels wide, on {room}"


def faults(page: Page, screen: Screen) -> Iterator[str]:
    """What is wrong with the page on the screen that it is on, each fault in a line."""
    theme, *_size, rules = screen
    found = page.evaluate(
        "rules => axe.run({runOnly: rules, resultTypes: ['violations']})", list(rules)
    )
    for fault in found["violations"]:
        for node in fault["nodes"]:
            yield f"{theme}, {fault['id']} at {node['target']}: {node['failureSummary']}"


@pytest.mark.timeout(2400)  # some eighty pages, on two screens: half an hour on a busy machine
def test_no_page_shuts_anybody_out(open_page: OpenPage) -> None:
    load_demo()
    pages: dict[str | None, tuple[Page, Traffic]] = {}
    wrong = []
    for visibility in sights():
        if visibility.user not in pages:
            account = User.objects.get(username=visibility.user) if visibility.user else None
            opened = open_page("/login/", account)
            opened.add_init_script(AXE_SCRIPT)
            pages[visibility.user] = opened, Traffic(opened)
        page, traffic = pages[visibility.user]
        page.goto(visibility.path)
        if visibility.key:
            page.keyboard.press(visibility.key)
        found: list[str] = []
        for screen in (PHONE, DESK):
            show(page, traffic, screen)
            found += excess(page)
        page.evaluate(KEEP_TWO_ALIKE)
        found += faults(page, DESK)
        show(page, traffic, PHONE)
        found += faults(page, PHONE)
        wrong += [f"{page.url}, for {visibility.user}: {fault}" for fault in found]
    assert wrong == []
