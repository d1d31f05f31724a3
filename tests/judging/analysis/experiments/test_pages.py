"""The pages of an experiment: what they say, whom they let in, what they cost."""

import re
from html import unescape
from itertools import cycle

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from judging.analysis.experiments.reports import EXPERIMENT, SECTIONS
from judging.models import StudyMember, Unblinding
from runs.models import Event, Experiment, Run
from tests.judging.analysis import audited
from tests.judging.analysis.experiments import made
from tests.judging.factories import make_study
from tests.runs.factories import client_of, make_agent, make_experiment, make_task, make_user

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sqlite_only("tests what pages show"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def two(kept_rows: None) -> Experiment:
    """Eleven tasks, two configurations: both 4, a 3, b 1, neither 3."""
    return made.two_models({"both": 4, "a": 3, "b": 1, "neither": 3})


def page(client: Client, name: str, *args: object, **query: object) -> str:
    """What the page holds, white space as browsers show it."""
    answer = client.get(made.address(name, *args, **query))
    assert answer.status_code == 200, answer
    return re.sub(r"\s+", " ", answer.content.decode())


def test_page_names_its_source_and_opens_the_runs(two: Experiment) -> None:
    client = made.reader()
    text = page(client, "experiment_detail", two.pk)
    assert "Configurations by imported reward" in text
    assert "63.6" in text  # 7 of 11
    gpt = make_agent("generic", "gpt-5-mini").pk
    listed = page(
        client, "experiment_runs", two.pk, verdict="reward", agent=gpt, standing="success"
    )
    assert listed.count("data-run=") == 7
    assert "7 runs" in listed


def test_every_part_answers_alone_and_on_a_page(two: Experiment) -> None:
    client = made.reader()
    made.mark(Run.objects.filter(experiment=two)[0], Event.Kind.LOOP)
    for name in SECTIONS:
        address = made.address("experiment_part", two.pk, name, verdict="reward")
        part = client.get(address, headers={"HX-Request": "true"}).content.decode()
        assert part.strip().startswith("<section"), name
        whole = client.get(address).content.decode()
        assert whole.strip().startswith("<!doctype html>"), name
        if name not in ("controls", "infrastructure"):
            assert "imported reward" in part, name
        assert not re.search(r"<style|\sstyle=|\son\w+=", whole), name
    assert client.get(made.address("experiment_part", two.pk, "nothing")).status_code == 404


def test_results_come_first_and_other_questions_and_the_gate_are_folded(two: Experiment) -> None:
    text = page(made.reader(), "experiment_detail", two.pk)
    found = [text.index(f'id="part-{name}"') for name in ("accuracy", "groups", "pairs")]
    asked = text.index("More questions")
    assert text.index("Configurations by") < min(found) <= max(found) < asked
    assert asked < text.index('id="part-failures"') < text.index("Gate for CI</h2>")
    assert text.rindex("<details", 0, asked) > max(found), "the questions are folded"
    loaded = re.findall(r'hx-get="[^"]*/parts/(\w+)/[^"]*" hx-trigger="load"', text)
    assert loaded == ["accuracy", "groups", "progress", "pairs"]


def test_the_studies_that_judge_its_runs_are_named_to_who_may_see_their_figures(
    two: Experiment,
) -> None:
    world = audited.study("Judges these")
    world.add("failure", of=Run.objects.filter(experiment=two)[0])
    rights = ("judging.view_audit", "runs.view_run", "runs.view_experiment")
    reader = audited.person("reads both", *rights)
    names = ("audit_progress", "audit_detectors", "audit_failures")
    links = {made.address(name, world.study.pk) for name in names}
    shown = page(client_of(reader), "experiment_detail", two.pk)
    assert links <= set(re.findall('href="([^"]+)"', shown))
    world.add(None)
    audited.member(world.study, reader, StudyMember.Part.ANNOTATOR)
    shown = page(client_of(reader), "experiment_detail", two.pk)
    assert links.isdisjoint(re.findall('href="([^"]+)"', shown))


def test_two_by_two_opens_its_pairs(two: Experiment) -> None:
    client = made.reader()
    part = page(client, "experiment_part", two.pk, "pairs")
    [address] = set(re.findall(r'href="(/experiments/compare/[^"]*cell=only_second)#pairs"', part))
    listed = client.get(address.replace("&amp;", "&")).content.decode()
    assert listed.count("<tr data-run>") == 3
    assert "paired by" not in listed
    assert "Runs pair by task and seed" in listed


def test_two_experiments_flip_and_differ_with_intervals(two: Experiment) -> None:
    client = made.reader()
    agent = make_agent("generic", "gpt-5-mini")
    other = made.experiment("Afterwards")
    rewards = [1.0] * 9 + [0.0] * 2
    made.store(
        made.run_row(other, task, agent, reward, seed=7)
        for task, reward in zip(made.tasks(11), rewards, strict=True)
    )
    text = page(client, "experiment_compare", a=two.pk, a_agent=agent.pk, b=other.pk)
    # 7 of 11 before, 9 of 11 after; two failures became successes.
    assert "+18.2" in text
    assert text.count("<tr data-run>") == 2
    rows = client.get(
        f"{made.address('experiment_compare_file', 'json')}"
        f"?a={two.pk}&a_agent={agent.pk}&b={other.pk}"
    ).json()["rows"]
    found = {row["figure"]: row for row in rows}
    assert found["accuracy"]["difference"] == pytest.approx(2 / 11)
    assert found["paired_accuracy"]["n"] == 11
    assert found["only_second"]["second"] is not None  # the row of a pair comes last


def test_two_sides_name_the_gate_that_holds_them_against_each_other(two: Experiment) -> None:
    other = made.two_models({"both": 5, "a": 4, "b": 0, "neither": 2}, made.experiment("After"))
    agent = make_agent("generic", "gpt-5-mini")
    text = unescape(
        page(
            made.reader(),
            "experiment_compare",
            a=two.pk,
            a_agent=agent.pk,
            b=other.pk,
            verdict="reward",
        )
    )
    (command,) = re.findall(r">manage\.py (regression_gate .*?)</p>", text)
    call_command(*command.split(), "--strict")
    assert f"--baseline {two.pk} --baseline-agent {agent.pk} " in command


def test_choosing_nobody_or_something_strange_is_answered(two: Experiment) -> None:
    client = made.reader()
    alone = page(client, "experiment_compare")
    assert "Fewer than two experiments" in alone
    assert "<select" not in alone.partition("<main")[2]
    make_experiment()
    neither = page(client, "experiment_compare")
    assert "Choose two experiments" in neither
    assert "selected" in neither.partition('name="a"')[2].partition("choose one")[0]
    one = page(client, "experiment_compare", a=two.pk)
    assert f"Choose what to compare with {two.name}" in one
    assert f'<option value="{two.pk}" selected>' in one
    assert "selected" in one.partition('name="b"')[2].partition("choose one")[0]
    assert client.get(f"{made.address('experiment_compare')}?a=99999").status_code == 404
    for query in ("a=1&b=x", f"a={two.pk}&b=99999", f"a={two.pk}&b={two.pk}&cell=no"):
        assert client.get(f"{made.address('experiment_compare')}?{query}").status_code == 404
    for query in ("verdict=people", "verdict=evaluator:99", "verdict="):
        assert client.get(f"{made.address('experiment_detail', two.pk)}?{query}").status_code == 404
    for query in ("agent=x", "standing=hidden", "mode=no", "end=no", "steps=x-1", "detections=x+"):
        assert client.get(f"{made.address('experiment_runs', two.pk)}?{query}").status_code == 404


@pytest.mark.parametrize("role", ["annotator", "adjudicator"])
def test_who_may_not_read_audits_launches_no_controls(two: Experiment, role: str) -> None:
    client = client_of(make_user(role))
    assert client.post(made.address("controls_launch", two.pk)).status_code == 403


def test_runs_under_the_readers_own_judgement_are_in_no_figure(two: Experiment) -> None:
    engineer = make_user("engineer")
    hidden = Run.objects.filter(experiment=two, reward=1.0).order_by("pk")[0]
    make_study(runs=[hidden], annotators=[engineer, make_user("annotator")], hides_identity=False)
    client = client_of(engineer)
    text = page(client, "experiment_detail", two.pk)
    # The run, and the other configuration's run of the same task.
    assert "2 still judged by you" in text
    assert "20 runs with a verdict" in text
    # By configuration their number would tell whose the runs are that are not counted at all.
    assert text.count("still judged by you") == 1
    address = made.address("experiment_table", two.pk, "configurations", "json")
    assert "hidden" not in client.get(address).content.decode()
    listed = page(client, "experiment_runs", two.pk)
    assert str(hidden.pk) not in listed
    rows = client.get(made.address("experiment_table", two.pk, "runs", "json")).json()["rows"]
    assert len(rows) == 20
    assert str(hidden.pk) not in {row["run"] for row in rows}


def test_runs_stand_in_the_order_of_the_configurations_and_name_one_seed_once() -> None:
    of, [task] = made.experiment(), made.tasks(1)
    changed, usual = make_agent("a", config={"style": "x"}), make_agent("a", config={})
    assert changed.pk < usual.pk
    made.store(made.run_row(of, task, agent, 1.0, seed=7) for agent in (changed, usual))
    text = page(made.reader(), "experiment_runs", of.pk)
    assert text.index(">a · model-a</td>") < text.index(">a · model-a (style=x)</td>")
    assert "· seed 7" in " ".join(text.split())
    assert ">Seed</th>" not in text
    made.store([made.run_row(of, task, usual, 1.0, seed=8, trial=2)])
    text = page(made.reader("second"), "experiment_runs", of.pk)
    assert ">Seed</th>" in text
    assert "· seed" not in text


def test_figures_say_of_when_they_are_while_runs_are_under_way(two: Experiment) -> None:
    client = made.reader()
    assert "Figures as of" not in page(client, "experiment_detail", two.pk)
    done = Run.objects.filter(experiment=two)[0]
    again = made.run_row(two, done.task, done.agent, None, trial=2, status="queued")
    (waiting,) = made.store([again])
    for name in ("experiment_detail", "experiment_progress_rates", "hint_report"):
        text = page(client, name, two.pk)
        (asks,) = re.findall(r'hx-get="([^"]*freshness[^"]*)" hx-trigger="every 10s"', text)
        assert "Figures as of" in text
    nothing = client.get(unescape(asks)).content.decode()
    assert "ended since" not in nothing
    assert "every 10s" in nothing
    Run.objects.filter(pk=waiting.pk).update(status="finished")
    told = client.get(unescape(asks)).content.decode()
    assert "1 run has ended since" in told
    assert "every 10s" not in told
    for wrong in ("", "?done=x&at=1", f"?done=1&at={10**20}"):
        assert client.get(made.address("experiment_freshness", two.pk) + wrong).status_code == 404


def test_an_experiment_that_would_tell_the_agent_is_not_there(two: Experiment) -> None:
    engineer = make_user("engineer")
    runs = list(Run.objects.filter(experiment=two))
    make_study(runs=runs, annotators=[engineer, make_user("annotator")])
    client = client_of(engineer)
    assert client.get(made.address("experiment_detail", two.pk)).status_code == 404


def test_seeing_verdicts_of_runs_is_recorded_and_rewards_are_not(two: Experiment) -> None:
    run = Run.objects.filter(experiment=two)[0]
    made.settle(run, "success")
    client = made.reader()
    page(client, "experiment_runs", two.pk, verdict="reward")
    assert not Unblinding.objects.exists()
    page(client, "experiment_runs", two.pk, verdict="reference")
    assert [*Unblinding.objects.values_list("item__run", flat=True)] == [run.pk]


def test_a_file_of_pairs_that_flip_is_recorded_as_their_list_is(two: Experiment) -> None:
    one, other = (
        Run.objects.filter(experiment=two, reward=reward, agent__model="gpt-5-mini")[0]
        for reward in (1.0, 0.0)
    )
    partner = Run.objects.exclude(pk=one.pk).get(experiment=two, task=one.task)
    for run, verdict in ((one, "success"), (partner, "failure"), (other, "failure")):
        made.settle(run, verdict)
    sides = f"?a={two.pk}&a_agent={one.agent_id}&b={two.pk}&b_agent={partner.agent_id}"
    address = made.address("experiment_compare_file", "csv") + sides
    made.reader().get(f"{address}&verdict=reference")
    assert {*Unblinding.objects.values_list("item__run", flat=True)} == {one.pk, partner.pk}


@pytest.fixture(scope="module")
def small_and_large(kept_rows: None) -> list[Experiment]:
    """Two experiments, the second eight times the first."""
    found = []
    for number in (1, 8):
        of = made.two_models(
            dict.fromkeys(("both", "a", "b", "neither"), number), made.experiment(f"of {number}")
        )
        for run in Run.objects.filter(experiment=of)[:number]:
            made.mark(run, Event.Kind.LOOP)
            audited.evaluation(run, audited.evaluator(), "passed")
        found.append(of)
    return found


@pytest.mark.parametrize("name", ["experiment_detail", "experiment_runs", *SECTIONS])
def test_queries_do_not_grow_with_the_runs(small_and_large: list[Experiment], name: str) -> None:
    client = made.reader()
    counted = []
    for of in small_and_large:
        address = (
            made.address("experiment_part", of.pk, name)
            if name in SECTIONS
            else made.address(name, of.pk)
        )
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200
        counted.append(len(queries))
    assert counted[0] == counted[1] < 20


def test_tables_and_reports_are_downloaded(two: Experiment) -> None:
    """Every table in one format, and every format; `test_report` writes each table in each."""
    client = made.reader()
    for name, ending in zip(EXPERIMENT.entries, cycle(["csv", "json", "md", "tex"]), strict=False):
        answer = client.get(made.address("experiment_table", two.pk, name, ending))
        assert answer.status_code == 200
    for ending in ("json", "md", "tex"):
        assert "Verdicts: imported reward" in page(client, "experiment_report", two.pk, ending)
    assert client.get(made.address("experiment_table", two.pk, "no", "csv")).status_code == 404


def test_pictures_stand_alone(two: Experiment) -> None:
    client = made.reader()
    agent = make_agent("generic", "gpt-5-mini").pk
    answer = client.get(made.address("experiment_picture", two.pk, "accuracy"))
    assert answer["Content-Type"] == "image/svg+xml"
    assert b"style=" not in answer.content
    for name in ("detections", "lengths"):
        address = made.address("experiment_picture", two.pk, name, agent=agent)
        assert b"<svg" in client.get(address).content
    assert client.get(made.address("experiment_picture", two.pk, "lengths")).status_code == 404


def test_names_from_outside_are_escaped() -> None:
    of, [task] = made.experiment("<b>bold</b>"), made.tasks(1, site="<i>site</i>")
    made.store([made.run_row(of, task, make_agent('<script>alert("1")</script>'), 1.0)])
    client = made.reader()
    texts = [page(client, "experiment_detail", of.pk), page(client, "experiment_runs", of.pk)]
    texts += [page(client, "experiment_part", of.pk, name) for name in SECTIONS]
    for text in texts:
        assert not re.search(r"<script>alert|<b>bold|<i>site", text)


def test_groups_tell_site_and_level_apart() -> None:
    of, agent = made.experiment(), make_agent()
    tasks = [
        make_task("workarena.servicenow.x-l2", site="a"),
        make_task("workarena.servicenow.y", site="a"),
        make_task("other", site="b", record={"extra": {"difficulty": "hard"}}),
        make_task("silent", site=""),
    ]
    made.store(made.run_row(of, task, agent, 1.0) for task in tasks)
    client = made.reader()
    part = page(client, "experiment_part", of.pk, "groups")
    for word in ("Site", "Level", "L1", "L2", "hard"):
        assert word in part
    for level, external_id in {
        "L2": "workarena.servicenow.x-l2",
        "L1": "workarena.servicenow.y",
        "hard": "other",
        "": "silent",
    }.items():
        listed = page(client, "experiment_runs", of.pk, level=level)
        assert listed.count("data-run=") == 1, level
        assert external_id in listed
