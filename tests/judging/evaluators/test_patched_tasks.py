"""What our patch for WebArena does to verdicts: right answers in the stated form pass."""

import io
import json
from typing import Any

import pytest
from django.core.management import call_command

from judging.evaluators.matchers import PLACEHOLDER, MatcherEvaluator
from judging.evaluators.matching.pipeline import build_matcher
from judging.models import Evaluation
from runs.catalogue.patches.files import patch_path, read_patch
from runs.models import Task
from tests.runs.factories import make_run
from tests.webarena_tasks import webarena_tasks

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_only("tests matching"), pytest.mark.slow]
TASKS = webarena_tasks()
PATCHED = [TASKS[entry.task] for entry in read_patch(patch_path("webarena-1")).entries]
HOSTS = {
    site: f"http://shop.test:{port}"
    for site, port in (
        ("shopping", 7770),
        ("shopping_admin", "7780/admin"),
        ("reddit", 9999),
        ("gitlab", 8023),
        ("map", 3000),
    )
}


@pytest.fixture(autouse=True, scope="module")
def tasks(kept_rows: None, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("patched") / "tasks.json"
    file.write_text(json.dumps(PATCHED))
    call_command("import_tasks", str(file), stdout=io.StringIO())
    call_command("apply_task_patch", "webarena-1", stdout=io.StringIO())


@pytest.fixture(autouse=True)
def hosts(settings: Any) -> None:
    settings.SITE_HOSTS = HOSTS


def verdict(task_id: int, version: str, matcher: str = "webarena-strict", **fields: Any) -> str:
    task = Task.objects.get(external_id=str(task_id), task_set__version=version)
    run = make_run(task=task, pictures=False, **fields)
    return str(MatcherEvaluator(build_matcher(matcher)).evaluate(run).verdict)


CLONE = "git clone ssh://git@shop.test:2222/convexegg/chatgpt.git"
AIRPORT = "Pittsburgh International Airport, Airport Boulevard, Pennsylvania, 15231"
ORDERS = "http://shop.test:7770/catalogsearch/result/index/"


@pytest.mark.parametrize(
    ("task_id", "answer"),
    [
        (7, AIRPORT),
        (9, AIRPORT),
        (66, "http://shop.test:9999/f/books/59396/apple-books-has-a-free-audiobook-of-a-christmas"
             "-carol http://shop.test:9999/f/books/17445/i-just-finished-reading-the-hobbit-to-my-"
             "6-year-old-daughter"),
        (68, "The Hobbit by Tolkien; A Christmas Carol"),
        (76, "Princeton University, Yale University, Harvard University"),
        (124, "$0.14 to $745"),
        (294, CLONE),
        (296, "git clone ssh://git@shop.test:2222/eriklindernoren/PyTorch-GAN.git"),
        (333, "$359.55"),
        (386, "3"),
    ],
)  # fmt: skip
def test_true_answers_pass_on_patched_tasks_alone(task_id, answer):
    assert verdict(task_id, "raw", final_answer=answer) == "failed"
    assert verdict(task_id, "repaired-1", final_answer=answer) == "passed"


@pytest.mark.parametrize(
    ("task_id", "url"),
    [
        (277, "http://shop.test:7770/catalogsearch/result/?q=batteries+for+iphone+13"),
        (324, f"{ORDERS}?product_list_order=price&q=chairs"),
        (325, f"{ORDERS}?q=mouth+night+guard&product_list_order=price&product_list_dir=desc"),
        (327, f"{ORDERS}?q=iphone+12+phone+case&product_list_order=name"),
        (328, f"{ORDERS}?q=iphone+12+phone+case&product_list_order=price"),
        (375, "http://shop.test:7780/admin/admin/system_design_theme/edit/id/3"),
    ],
)
def test_right_pages_pass_on_patched_tasks_alone(task_id, url):
    assert verdict(task_id, "raw", final_url=url) == "failed"
    assert verdict(task_id, "repaired-1", final_url=url) == "passed"


@pytest.mark.parametrize(
    ("task_id", "url"),
    [
        (325, f"{ORDERS}?q=mouth+night+guard+&product_list_order=price"),
        (355, "http://shop.test:7770/home-kitchen/bedding/kids-bedding.html?product_list_dir=desc"),
    ],
)
def test_pages_in_the_wrong_order_no_longer_pass(task_id, url):
    assert verdict(task_id, "raw", final_url=url) == "passed"
    assert verdict(task_id, "repaired-1", final_url=url) == "failed"


def test_every_stated_exact_answer_is_still_the_answer():
    """Stating the form changes the instruction, not what is right."""
    for task in PATCHED:
        reference = (task["eval"]["reference_answers"] or {}).get("exact_match")
        if reference and task["eval"]["eval_types"] == ["string_match"] and "ssh" not in reference:
            found = verdict(task["task_id"], "repaired-1", final_answer=reference)
            assert found == "passed", task["task_id"]


def test_the_placeholder_of_a_site_without_host_leaves_no_verdict(settings):
    settings.SITE_HOSTS = {}
    task = Task.objects.get(external_id="294", task_set__version="repaired-1")
    run = make_run(task=task, pictures=False, final_answer=CLONE)
    found = MatcherEvaluator(build_matcher("webarena-strict")).evaluate(run)
    assert (found.verdict, found.reason) == (Evaluation.Verdict.ERROR, PLACEHOLDER)
    assert found.details == {"placeholder": "__GITLAB_HOST__"}


def test_the_repaired_matcher_knows_the_deployments_names(settings):
    """The annotators' host in a reference is the deployment's, with the host that is set."""
    assert verdict(294, "raw", "webarena-repaired", final_answer=CLONE) == "passed"
    elsewhere = CLONE.replace("shop.test", "elsewhere.test")
    assert verdict(294, "raw", "webarena-repaired", final_answer=elsewhere) == "failed"
