"""A whole labelling session by keyboard, and what must not happen while typing or loading."""

import re
from typing import Any

import pytest
from django.conf import settings as configured
from django.utils.timezone import localtime
from playwright.sync_api import Page, expect
from pytest_django import Settings

from judging.models import Assignment, Guideline, Label, StepComment, Study
from judging.studies.services import remove_member
from runs.models import User
from tests.browser.conftest import OpenPage
from tests.judging.factories import annotators_of, make_label, make_study
from tests.runs.factories import PASSWORD, make_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

READY = "[data-annotate]:not([data-waits])"


def make_work(runs: int = 3) -> tuple[Study, User]:
    study = make_study(runs=[make_run(steps=4) for _ in range(runs)])
    return study, annotators_of(study)[0]


def chosen(page: Page) -> dict[str, Any]:
    """What the form holds."""
    found: dict[str, Any] = page.evaluate(
        """() => {
            const all = [...document.querySelector("[data-label-form]").elements];
            const named = (name) => all.filter((e) => e.name === name);
            const on = (name) => named(name).filter((e) => e.checked).map((e) => e.value);
            const text = (name) => named(name)[0].value;
            return {success: on("success"), causes: on("causes"), confidence: on("confidence"),
                    failure_step: text("failure_step"), rationale: text("rationale")};
        }"""
    )
    return found


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def log_in_elsewhere(page: Page, user: User) -> None:
    """In another tab of the same browser."""
    tab = page.context.new_page()
    tab.goto("/login/")
    tab.fill("[name=username]", user.username)
    tab.fill("[name=password]", PASSWORD)
    with tab.expect_navigation():
        tab.press("[name=password]", "Enter")
    tab.close()


def submit(page: Page, key: str = "Enter") -> None:
    with page.expect_navigation():
        page.keyboard.press(key)


def test_a_session_by_keyboard_alone(open_page: OpenPage) -> None:
    study, user = make_work()
    page = open_page(f"/studies/{study.pk}/annotate/", user)
    page.wait_for_selector(READY)
    expect(page.locator("#row-3")).to_have_attribute("aria-selected", "true")  # where it ended
    expect(page.locator("[name=step_index]")).to_have_value("3")
    expect(page.locator("[data-why]")).to_be_hidden()
    press(page, "k", "2", "Shift+Digit1", "Shift+Digit2", "Shift+Digit2", "f", "+", "-", "r")
    page.keyboard.type("1 4 jk f s u ? stays text")
    press(page, "Escape", "c")
    page.keyboard.type("odd step")
    press(page, "Enter")
    page.wait_for_selector("#step-comments li")
    filled = {
        "success": ["failure"],
        "causes": ["loop"],
        "confidence": ["2"],
        "failure_step": "2",
        "rationale": "1 4 jk f s u ? stays text",
    }
    assert chosen(page) == filled
    expect(page.locator("[data-saved]")).to_have_text(re.compile("^last saved [0-9]+:[0-9]{2}"))
    page.reload()
    page.wait_for_selector(READY)
    assert chosen(page) == filled
    submit(page)
    page.wait_for_selector(READY)
    expect(page.locator(".how-far")).to_contain_text("2 of 3")
    label = Label.objects.get()
    assert (label.success, label.causes, label.failure_step) == ("failure", ["loop"], 2)
    assert StepComment.objects.get().step_index == 2
    submit(page, "u")
    page.wait_for_selector(READY)
    assert chosen(page) == filled
    assert not Label.objects.exists()
    press(page, "1")
    expect(page.locator("[data-why]")).to_be_hidden()
    submit(page, "Control+Enter")
    page.wait_for_selector(READY)
    press(page, "s")
    page.keyboard.type("no pictures")
    press(page, "Tab")
    submit(page)
    page.wait_for_selector(READY)
    press(page, "3", "r")
    page.keyboard.type("cannot tell")
    submit(page, "Control+Enter")
    page.wait_for_selector(READY)
    expect(page.locator(".judge")).to_contain_text("Skipped: no pictures")
    press(page, "1")
    submit(page)
    expect(page.locator("h2").first).to_contain_text("All done. Thank you!")
    assert sorted(Label.objects.values_list("success", flat=True)) == [
        "success",
        "success",
        "unsure",
    ]


def test_a_clear_run_takes_few_keys(open_page: OpenPage) -> None:
    """At most 4 for a clear success, 8 for a failure with its cause and its step."""
    study, user = make_work(runs=2)
    page = open_page(f"/studies/{study.pk}/annotate/", user)
    success = ["1", "Enter"]
    failure = ["2", "Shift+Digit1", "k", "f", "Enter"]
    for (*keys, last), most in ((success, 4), (failure, 8)):
        assert len(keys) + 1 <= most
        page.wait_for_selector(READY)
        for key in keys:
            press(page, key)
            if key == "k":  # whoever judges looks at it
                expect(page.locator("[data-seen]")).to_have_value("2-3")
        submit(page, last)
    expect(page.locator("h2").first).to_contain_text("All done. Thank you!")
    given = Label.objects.order_by("submitted_at")
    assert [(one.success, one.causes, one.failure_step, one.seen) for one in given] == [
        ("success", [], None, "3 end"),
        ("failure", ["loop"], 2, "2-3 end"),
    ]


def test_where_the_end_was_not_on_screen_the_first_enter_says_so(open_page: OpenPage) -> None:
    study, user = make_work(runs=2)
    page = open_page(f"/studies/{study.pk}/annotate/#step-0", user)
    page.wait_for_selector(READY)
    warning = page.locator("[data-form-problem]")
    press(page, "1", "Enter")
    expect(warning).to_contain_text("Neither the last step nor the final answer was on screen.")
    page.wait_for_timeout(1000)  # the draft is saved meanwhile, and takes nothing of it away
    expect(warning).to_be_visible()
    assert not Label.objects.exists()
    submit(page)
    assert Label.objects.get().seen == "0"
    page.wait_for_selector(READY)  # which opens at the end, so that nothing has to be said
    press(page, "1")
    submit(page)
    assert set(Label.objects.values_list("seen", flat=True)) == {"0", "3 end"}


def test_keys_step_on_after_a_verdict_was_chosen_with_the_mouse(open_page: OpenPage) -> None:
    study, user = make_work(runs=1)
    page = open_page(f"/studies/{study.pk}/annotate/#step-0", user)
    page.wait_for_selector(READY)
    page.locator(".verdict-choice.failure").click()
    press(page, "j", "f", "Enter")
    expect(page.locator("[data-form-problem]")).to_contain_text("See it with G")
    press(page, "G")
    expect(page.locator("#row-3")).to_have_attribute("aria-selected", "true")
    press(page, "ArrowUp")  # is the choice's own
    assert chosen(page) | {"success": ["success"]} == chosen(page)
    press(page, "2", "Escape", "ArrowUp")
    expect(page.locator("#row-2")).to_have_attribute("aria-selected", "true")
    assert chosen(page)["success"] == ["failure"]
    assert chosen(page)["failure_step"] == "1"


def test_the_answer_in_sight_is_told_and_kept_through_a_reload(open_page: OpenPage) -> None:
    study = make_study(runs=[make_run(steps=3, final_answer="The hose")])
    page = open_page(f"/studies/{study.pk}/annotate/", annotators_of(study)[0])
    page.wait_for_selector(READY)
    press(page, "g")
    page.wait_for_timeout(200)
    page.reload()  # at step 0, where the address is
    page.wait_for_selector(READY)
    press(page, "1")
    submit(page)
    assert Label.objects.get().seen == "0 2 end answer"


def test_on_a_phone_only_the_pane_in_front_counts(open_page: OpenPage) -> None:
    study, user = make_work(runs=1)
    page = open_page("/", user, width=390, height=844)
    page.goto(f"/studies/{study.pk}/annotate/#step-1")
    page.wait_for_selector(READY)
    page.locator('[data-pane="steps"]').click()
    page.locator("#row-3").click()
    page.locator(".verdict-choice.success").click()
    page.locator(".submit").click()
    expect(page.locator("[data-form-problem]")).to_contain_text("Neither the last step")
    page.locator('[data-pane="page"]').click()
    with page.expect_navigation():
        page.locator(".submit").click()
    assert Label.objects.get().seen == "1 3 end"


def test_from_home_one_key_goes_on_with_the_work(open_page: OpenPage) -> None:
    study, user = make_work()
    page = open_page("/", user)
    expect(page.locator(".wait").first).to_be_focused()
    submit(page)
    page.wait_for_selector(READY)
    assert f"/studies/{study.pk}/annotate/" in page.url


def test_what_a_refused_label_lacks_comes_into_view(open_page: OpenPage) -> None:
    study, user = make_work(runs=1)
    study.asks_failure_details = True
    study.save()
    Guideline.objects.create(study=study, version=2, text="Look at every picture.\n\n" * 20)
    page = open_page(f"/studies/{study.pk}/annotate/", user, height=700)
    page.wait_for_selector(READY)
    press(page, "2")
    submit(page)
    page.wait_for_selector(READY)
    expect(page.locator("[data-form-problem]")).to_contain_text(
        "Give the step at which it went wrong."
    )
    expect(page.locator(".judge-scroll ul.errors").first).to_be_in_viewport()
    assert chosen(page)["success"] == ["failure"]
    assert not Label.objects.exists()


def test_nothing_is_sent_without_a_verdict_or_before_the_run_is_seen(open_page: OpenPage) -> None:
    study, user = make_work(runs=1)
    page = open_page("/", user)
    page.route(re.compile("/blobs/"), lambda route: None)  # the picture never comes
    page.goto(f"/studies/{study.pk}/annotate/", wait_until="domcontentloaded")
    page.wait_for_selector("[data-annotate][data-waits]")
    press(page, "1", "Enter")
    assert chosen(page)["success"] == []
    page.unroute(re.compile("/blobs/"))
    page.reload()
    page.wait_for_selector(READY)
    press(page, "Enter")
    expect(page.locator("[data-form-problem]")).to_contain_text("Choose success")
    press(page, "?")
    expect(page.locator("#keys")).to_be_visible()
    press(page, "1", "Escape")
    assert chosen(page)["success"] == []
    assert not Label.objects.exists()


@pytest.mark.fault(13, "the session ends while a rationale is typed in Chromium")
def test_a_lost_session_loses_nothing(open_page: OpenPage) -> None:
    study, user = make_work(runs=1)
    page = open_page(f"/studies/{study.pk}/annotate/", user)
    page.wait_for_selector(READY)
    page.context.clear_cookies(name=configured.SESSION_COOKIE_NAME)
    press(page, "2", "r")
    page.keyboard.type("written while logged out")
    problem = page.locator("[data-form-problem]")
    expect(problem).to_contain_text("You are logged out")
    press(page, "Control+Enter")
    expect(page.locator("[data-waits]")).to_have_count(0)  # refused; meanwhile no key is taken
    press(page, "Escape", "c")
    page.keyboard.type("odd step")
    press(page, "Enter")
    expect(page.locator("#toasts")).to_contain_text("You are logged out")
    press(page, "Escape", "s")
    page.keyboard.type("too long")
    page.locator("#skip .primary").click()
    expect(page.locator("#skip")).to_be_hidden()
    assert not Label.objects.exists()
    log_in_elsewhere(page, user)
    expect(problem).to_be_hidden()  # the draft is saved by itself
    press(page, "c", "Enter")
    expect(page.locator("#step-comments")).to_contain_text("odd step")
    press(page, "Escape", "s")
    expect(page.locator("#skip_reason")).to_have_value("too long")
    press(page, "Escape")
    submit(page, "Control+Enter")
    assert Label.objects.get().rationale == "written while logged out"


def test_an_idle_tab_leaves_the_draft_of_another_as_it_is(open_page: OpenPage) -> None:
    study, user = make_work(runs=1)
    page = open_page(f"/studies/{study.pk}/annotate/", user)
    idle = page.context.new_page()
    idle.clock.install()
    idle.goto(page.url)
    for tab in (idle, page):
        tab.wait_for_selector(READY)
    press(page, "2", "r")
    page.keyboard.type("newer")
    expect(page.locator("[data-saved]")).to_have_text(re.compile("^last saved"))
    idle.clock.run_for(40_000)
    idle.mouse.move(300, 300)
    with idle.expect_response(re.compile("/draft/")):
        idle.clock.run_for(25_000)
    page.reload()
    page.wait_for_selector(READY)
    assert chosen(page)["success"] == ["failure"]
    assert chosen(page)["rationale"] == "newer"


def test_who_was_removed_from_the_study_is_not_told_to_wait_for_the_server(
    open_page: OpenPage,
) -> None:
    study, user = make_work(runs=1)
    page = open_page(f"/studies/{study.pk}/annotate/", user)
    page.wait_for_selector(READY)
    remove_member(study=study, user=user)
    press(page, "2")
    expect(page.locator("[data-form-problem]")).to_contain_text("This no longer exists")


@pytest.mark.fault(11, "a double click on the button in Chromium")
def test_a_double_click_submits_once_and_time_is_counted(open_page: OpenPage) -> None:
    study, user = make_work(runs=2)
    page = open_page(f"/studies/{study.pk}/annotate/", user)
    page.wait_for_selector(READY)
    press(page, "1")
    page.mouse.move(300, 300)
    page.wait_for_timeout(2200)
    page.locator(".submit").dblclick()
    expect(page.locator(".how-far")).to_contain_text("2 of 2")
    label = Label.objects.get()
    assert 1 <= label.seconds < 60
    assert Assignment.objects.filter(state="submitted").count() == 1


def test_on_a_phone_verdict_and_submit_are_always_in_sight(open_page: OpenPage) -> None:
    study, user = make_work(runs=1)
    page = open_page(f"/studies/{study.pk}/annotate/", user, width=390, height=844)
    page.wait_for_selector(READY)
    for pane in ("steps", "page", "judge"):
        page.locator(f'[data-pane="{pane}"]').click()
        expect(page.locator(".submit")).to_be_in_viewport(ratio=1)
        expect(page.locator(".verdict-choice.failure")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator('[data-pane="page"]').click()
    expect(page.locator("[data-shows-why]")).to_be_hidden()
    page.locator(".verdict-choice.failure").click()
    page.locator("[data-shows-why]").click()  # leads to the causes, which stand in another pane
    expect(page.locator("[data-why]")).to_be_in_viewport(ratio=1)
    expect(page.locator("[data-shows-why]")).to_be_hidden()
    with page.expect_navigation():
        page.locator(".submit").click()
    assert Label.objects.get().success == "failure"


def test_remarks_stand_on_the_timeline_of_a_dispute(open_page: OpenPage) -> None:
    study, first = make_work(runs=1)
    second = annotators_of(study)[1]
    item = study.items.get()
    make_label(item, first, "success")
    make_label(item, second, "failure", failure_step=3)
    StepComment.objects.create(item=item, author=second, step_index=3, text="here")
    page = open_page("/disputes/", first)
    page.locator(".table a").first.click()
    expect(page.locator("#row-3 .mark")).to_contain_text("✎")
    page.get_by_role("link", name="Failed at step 3").click()
    expect(page.locator("#row-3")).to_have_attribute("aria-selected", "true")


def test_the_last_save_is_told_by_the_clock_of_the_site(
    open_page: OpenPage, settings: Settings
) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    study, user = make_work(runs=1)
    page = open_page(f"/studies/{study.pk}/annotate/", user)
    page.wait_for_selector(READY)
    press(page, "1")
    expect(page.locator("[data-saved]")).to_have_text(re.compile("^last saved"))
    saved = Assignment.objects.get().draft_saved_at
    assert saved
    expect(page.locator("[data-saved]")).to_contain_text(f"last saved {localtime(saved):%H}:")


def test_cancel_leaves_the_label_as_it_was(open_page: OpenPage) -> None:
    study, user = make_work(runs=1)
    make_label(study.items.get(), user, "failure", rationale="gave up")
    page = open_page(f"/studies/{study.pk}/annotate/{study.items.get().run_id}/", user)
    page.wait_for_selector(READY)
    press(page, "1", "r")
    page.keyboard.type(" twice")
    with page.expect_navigation():  # at once: the draft is saved at this moment
        page.get_by_role("button", name="Cancel").last.click()
    assert Assignment.objects.get().draft == {}
    page.go_back()
    page.wait_for_selector(READY)
    assert chosen(page)["success"] == ["failure"]
    assert chosen(page)["rationale"] == "gave up"
