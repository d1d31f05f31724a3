"""Experiments: planned, launched once, paused, resumed, cancelled."""

import json
import uuid
from collections import Counter
from collections.abc import Iterable
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from runs.catalogue.tasks.rows import task_set_choices
from runs.launching.experiments import services as experiments
from runs.launching.experiments.estimates import estimate
from runs.launching.experiments.plans import MAX_RUNS, Plan, Seeds, read_agent, read_seeds
from runs.launching.experiments.progress import progress_of
from runs.launching.experiments.selection import PlanError, Selection, tasks_of
from runs.launching.experiments.services import (
    Launched,
    cancel_experiment,
    launch_experiment,
    pause_experiment,
    resume_experiment,
)
from runs.launching.experiments.starting import start_ready_experiments
from runs.launching.policies.services import save_policy
from runs.models import Experiment, Run, RunStatus, Task
from runs.queue.sweeping import follow_up, sweep_runs
from tests.judging.factories import make_study
from tests.runs.factories import make_run, make_task, make_user
from webagent.recovery.retry_policy import PolicyBody
from webagent.trajectory.faults import Fault

pytestmark = pytest.mark.django_db
PICKED = ("click-test", "click-button")


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What workers were told."""
    news: list[str] = []
    monkeypatch.setattr(experiments, "wake_workers", lambda: news.append("work"))
    monkeypatch.setattr(experiments, "ask_for_sweep", lambda: news.append("sweep"))
    return news


def plan(*agents: str, picked: tuple[str, ...] = PICKED, **wanted: Any) -> Plan:
    values: dict[str, Any] = {"name": "Tried", "trials": 3, **wanted}
    values.setdefault("tasks", tasks_of(Selection(task_set="miniwob", picked=picked), None))
    return Plan(agents=tuple(map(read_agent, agents or ("oracle", "looping"))), **values)


def launch(asked: Plan | None = None, token: uuid.UUID | None = None, user: Any = None) -> Launched:
    return launch_experiment(plan=asked or plan(), token=token or uuid.uuid4(), user=user)


def test_every_agent_tries_every_task_as_often_as_there_are_trials(
    told, django_capture_on_commit_callbacks
):
    user, token = make_user(), uuid.uuid4()
    asked = plan(seeds=Seeds(given=(5, 8, 13)), max_steps=7, parallelism=2)
    with django_capture_on_commit_callbacks(execute=True):
        launched = launch(asked, token, user)
    assert told == ["work"]
    runs = list(Run.objects.filter(experiment=launched.experiment).select_related("task", "agent"))
    cells = Counter((run.task.external_id, run.agent.name, run.trial, run.seed) for run in runs)
    assert cells == {
        (f"miniwob.{task}", agent, trial, seed): 1
        for task in PICKED
        for agent in ("oracle", "looping")
        for trial, seed in ((1, 5), (2, 8), (3, 13))
    }
    same = {(run.status, run.priority, run.max_steps, run.launch, run.created_by) for run in runs}
    assert same == {("queued", Run.Priority.EXPERIMENT, 7, token, user)}
    assert all(run.queued_at for run in runs)
    kept = launched.experiment
    assert (kept.created_by, kept.parallelism, kept.state) == (user, 2, "running")
    assert kept.plan["tasks"] == ["miniwob.click-test", "miniwob.click-button"]
    assert [agent["name"] for agent in kept.plan["agents"]] == ["oracle", "looping"]


def test_the_same_click_launches_once():
    token = uuid.uuid4()
    first, again = launch(token=token), launch(token=token)
    assert (first.is_new, again.is_new) == (True, False)
    assert first.experiment == again.experiment
    assert Run.objects.count() == 12


def test_a_click_that_comes_while_the_first_is_at_work_finds_its_experiment(
    monkeypatch: pytest.MonkeyPatch,
):
    """Both looked before either wrote: the database lets one through."""
    token = uuid.uuid4()
    first = launch(token=token)
    looks = iter([Experiment.objects.none(), Experiment.objects.filter(token=token)])
    real = Experiment.objects.filter
    monkeypatch.setattr(
        type(Experiment.objects),
        "filter",
        lambda self, *args, **named: next(looks) if "token" in named else real(*args, **named),
    )
    again = launch(token=token)
    monkeypatch.undo()
    assert (again.experiment, again.is_new) == (first.experiment, False)
    assert Run.objects.count() == 12


def test_a_name_is_taken_once():
    launch()
    with pytest.raises(PlanError, match="is taken"):
        launch()
    assert Run.objects.count() == 12


def test_drawn_seeds_are_kept_and_the_same_for_all_agents():
    launched = launch(plan(trials=2))
    seeds: dict[tuple[int, int], set[int | None]] = {}
    for run in Run.objects.filter(experiment=launched.experiment):
        seeds.setdefault((run.task_id, run.trial), set()).add(run.seed)
    assert all(len(each) == 1 for each in seeds.values())
    assert len(set.union(*seeds.values())) == 4


@pytest.mark.parametrize(
    ("words", "of_trials"),
    [("0-2", [0, 1, 2]), ("4, 8,15", [4, 8, 15]), ("7+", [7, 8, 9]), ("1-2,9", [1, 2, 9])],
)
def test_seeds_from_words(words: str, of_trials: list[int]):
    seeds = read_seeds(words, 3)
    task = make_task()
    assert [seeds.of(uuid.uuid4(), task, trial) for trial in (1, 2, 3)] == of_trials
    assert read_seeds(str(seeds), 3) == seeds


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("0-1", "2 seeds for 3 trials"),
        ("a", "Invalid seeds"),
        ("9-1", "Invalid seeds"),
        ("2147483648+", "at most"),
    ],
)
def test_what_are_no_seeds(words: str, said: str):
    with pytest.raises(PlanError, match=said):
        read_seeds(words, 3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tasks": ()}, "No task matches"),
        ({"trials": MAX_RUNS}, f"At most {MAX_RUNS} runs at once; these are 40000"),
    ],
)
def test_too_little_and_too_much(changes: dict[str, Any], said: str):
    with pytest.raises(PlanError, match=said):
        launch(plan(**changes))
    assert not Experiment.objects.exists()
    assert not Run.objects.exists()


def test_an_agent_is_chosen_once():
    with pytest.raises(PlanError, match="twice"):
        launch(plan("oracle", "oracle"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("orakel", "There is no agent 'orakel'"),
        ("looping:{", "Invalid JSON"),
        ("looping:[1]", "JSON object"),
        ('looping:{"speed": 1}', "does not fit"),
    ],
)
def test_what_is_no_agent(words: str, said: str):
    with pytest.raises(PlanError, match=said):
        read_agent(words)


def test_tasks_that_cannot_run_here_are_refused_whole():
    with pytest.raises(PlanError, match="browsergym-webarena"):
        launch(plan(tasks=(make_task("7"),)))
    assert not Experiment.objects.exists()


def test_tasks_by_set_site_kind_and_id():
    a = make_task("1", site="shopping", evaluation_kind="url_match")
    b = make_task("2", site="reddit", evaluation_kind="string_match")
    make_task("3", site="reddit", infeasible_reason="The page is gone.")
    assert "webarena raw" in task_set_choices()

    def chosen(**by: Any) -> list[str]:
        return [t.external_id for t in tasks_of(Selection(task_set="webarena", **by), None)]

    assert chosen() == [a.external_id, b.external_id]
    assert chosen(feasible_only=False) == ["1", "2", "3"]
    assert chosen(sites=["reddit"]) == ["2"]
    assert chosen(kinds=["url_match"]) == ["1"]
    assert chosen(picked=["2", "1", "webarena.2"][:2]) == ["2", "1"]
    with pytest.raises(PlanError, match="not among the selected"):
        chosen(picked=["9"])
    with pytest.raises(PlanError, match="There is no task set nowhere"):
        tasks_of(Selection(task_set="nowhere"), None)


def test_an_installed_suite_is_there_before_any_of_its_tasks_is_stored():
    tasks = tasks_of(Selection(task_set="miniwob"), None)
    assert len(tasks) > 100
    assert not Task.objects.exists()
    launch(plan("oracle", tasks=tasks[:2], trials=1))
    assert Task.objects.count() == 2


def test_a_pause_holds_what_waits_and_lets_the_rest_go_on():
    experiment = launch().experiment
    held = Run.objects.claim_next(owner="w1", lease_s=60)
    assert held is not None
    assert pause_experiment(experiment=experiment)
    assert not pause_experiment(experiment=experiment)
    assert Run.objects.claim_next(owner="w2", lease_s=60) is None
    assert Run.objects.start(held.pk, held.lease_token)
    assert Run.objects.end(held.pk, held.lease_token, status=RunStatus.FINISHED)
    assert resume_experiment(experiment=experiment)
    assert Run.objects.claim_next(owner="w2", lease_s=60) is not None


def test_the_next_attempt_of_a_broken_run_waits_with_a_paused_experiment():
    experiment = launch(plan("oracle", trials=1)).experiment
    broken = Run.objects.claim_next(owner="w1", lease_s=60)
    assert broken is not None
    pause_experiment(experiment=experiment)
    Run.objects.end(broken.pk, broken.lease_token, status=RunStatus.FAILED, outcome="error")
    later = follow_up(broken, Fault.WORKER_LOST)
    assert later is not None
    Run.objects.filter(pk=later.pk).update(not_before=None)
    assert Run.objects.claim(later.pk, owner="w2", lease_s=60) is None
    assert Run.objects.claim_next(owner="w2", lease_s=60) is None


def test_cancelling_ends_what_waits_and_asks_what_runs(told, django_capture_on_commit_callbacks):
    experiment = launch().experiment
    held = Run.objects.claim_next(owner="w1", lease_s=60)
    assert held is not None
    with django_capture_on_commit_callbacks(execute=True):
        assert cancel_experiment(experiment=experiment)
    assert told == ["sweep"]
    assert Run.objects.claim_next(owner="w2", lease_s=60) is None
    sweep_runs()
    runs = Run.objects.filter(experiment=experiment)
    statuses = Counter(runs.values_list("status", "end_reason"))
    assert statuses == {("cancelled", "cancelled"): 11, ("leased", "unknown"): 1}
    held.refresh_from_db()
    assert held.cancel_requested_at is not None
    assert follow_up(held, Fault.WORKER_LOST) is None
    assert not resume_experiment(experiment=experiment)


def test_what_slips_into_a_cancelled_experiment_is_ended_by_the_sweep():
    experiment = launch(plan("oracle", trials=1)).experiment
    cancel_experiment(experiment=experiment)
    Run.objects.filter(experiment=experiment).update(cancel_requested_at=None)
    sweep_runs()
    assert set(experiment.runs.values_list("status", flat=True)) == {"cancelled"}


@pytest.fixture
def unready(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sites that are not ready: empty it, and they are."""
    sites = ["shopping: 503"]
    monkeypatch.setattr(
        "runs.launching.experiments.services.unready_words", lambda _: "; ".join(sites)
    )
    monkeypatch.setattr(
        "runs.launching.experiments.starting.unready_words", lambda _: "; ".join(sites)
    )
    return sites


def test_a_site_that_is_not_ready_is_named_and_nothing_is_queued(unready: list[str]):
    with pytest.raises(PlanError, match="shopping: 503"):
        launch()
    assert not Run.objects.exists()


def test_sites_of_tasks_that_no_run_had_yet_are_asked_too(monkeypatch: pytest.MonkeyPatch):
    def all_are_ill(tasks: Iterable[Task]) -> str:
        return ", ".join(site for task in tasks for site in task.sites)

    monkeypatch.setattr("runs.launching.experiments.services.unready_words", all_are_ill)
    with pytest.raises(PlanError, match="miniwob, miniwob"):
        launch()


def test_an_experiment_can_wait_for_its_sites(unready: list[str]):
    experiment = launch(plan(waits_for_sites=True)).experiment
    assert (experiment.state, experiment.waits_because) == ("waiting", "shopping: 503")
    start_ready_experiments()
    assert Run.objects.claim_next(owner="w", lease_s=60) is None
    unready.clear()
    start_ready_experiments()
    experiment.refresh_from_db()
    assert (experiment.state, experiment.waits_because) == ("running", "")
    assert Run.objects.claim_next(owner="w", lease_s=60) is not None


def past(seconds: float, agent: str = "oracle", task: str = "click-test", **fields: Any) -> Run:
    """An ended run of one of our agents, which took so long."""
    (row,) = Task.objects.filter(external_id=f"miniwob.{task}") or [None]
    if row is None:
        launch(plan(agent, picked=(task,), trials=1, name=str(uuid.uuid4())))
        Run.objects.filter(status="queued").update(status="cancelled")
        row = Task.objects.get(external_id=f"miniwob.{task}")
    from_agent = Run.objects.filter(agent__name=agent).values_list("agent", flat=True)[0]
    return make_run(task=row, agent_id=from_agent, seconds=seconds, **fields)


def test_an_estimate_rests_on_past_runs_of_the_same_agent():
    launch(plan("oracle", trials=1, name="before"))
    Run.objects.update(status="cancelled")
    agent = Run.objects.all()[0].agent
    task = Task.objects.get(external_id="miniwob.click-test")
    for seconds in (2.0, 4.0, 6.0, 8.0, 10.0):
        make_run(task=task, agent=agent, seconds=seconds)
    make_run(task=task, agent=agent, seconds=500.0, outcome="error", status="failed")
    asked = plan("oracle", "looping", trials=2)
    found = estimate(asked, None)
    oracle, looping = found.agents
    assert oracle.seconds is not None
    assert (oracle.seconds.n, oracle.seconds.median, oracle.seconds.mean) == (5, 6.0, 6.0)
    assert (oracle.seconds.low, oracle.seconds.high) == (4.0, 8.0)
    assert oracle.n_runs == 4
    assert looping.seconds is None
    assert found.seconds == 24.0
    assert found.wall_seconds == 24.0 / found.browsers
    assert not found.is_time_complete
    assert (found.cost, found.is_cost_complete) == (0, True)


def test_an_unknown_price_is_unknown_and_not_zero(monkeypatch: pytest.MonkeyPatch):
    asked = plan("oracle")
    model = asked.agents[0].model_copy(update={"name": "generic", "config": {"model": "m"}})
    found = estimate(Plan(name="x", tasks=asked.tasks, agents=(model,)), None)
    assert found.cost is None
    assert not found.is_cost_complete
    assert "price of m" in found.agents[0].cost_words


def test_a_ceiling_is_the_tightest_limit_of_the_policy():
    def most(**body: Any) -> tuple[int, float | None]:
        policy = save_policy(name="Mine", body=PolicyBody.model_validate(body), is_new=False)
        found = estimate(plan("oracle", policy=policy), None).ceiling
        assert found is not None
        return found.attempts, found.dollars

    assert estimate(plan("oracle"), None).ceiling is None
    assert most() == (6 * settings.ENV.MAX_ATTEMPTS, None)
    assert most(infrastructure={"attempts": 2}, run={"dollars": "0.5"}) == (12, 6.0)
    both = {"run": {"dollars": "0.5"}, "batch": {"runs": 4, "dollars": "5"}}
    assert most(**both) == (4, 2.0)


def test_past_runs_that_the_person_judges_tell_nothing():
    run = past(3.0)
    user = make_user()
    asked = plan("oracle", picked=("click-test",))
    assert estimate(asked, user).agents[0].seconds is not None
    make_study(runs=[run], annotators=[user])
    assert estimate(asked, user).agents[0].seconds is None


def test_progress_counts_each_trial_once():
    user = make_user()
    experiment = launch(user=user).experiment
    broken = Run.objects.claim_next(owner="w", lease_s=60)
    assert broken is not None
    Run.objects.end(broken.pk, broken.lease_token, status="failed", outcome="error")
    assert follow_up(broken, Fault.WORKER_LOST)
    for outcome in ("success", "error"):
        run = Run.objects.claim_next(owner=outcome, lease_s=60)
        assert run is not None
        Run.objects.end(run.pk, run.lease_token, status="finished", outcome=outcome, seconds=4.0)
    under_way = Run.objects.claim_next(owner="now", lease_s=60)
    assert under_way is not None
    progress = progress_of(experiment, user)
    assert (progress.done, progress.running, progress.queued) == (2, 1, 9)
    assert (progress.errors, progress.total, progress.state) == (1, 12, "running")
    assert progress.left_s == 4.0 * 9.5
    assert [each.run.pk for each in progress.wall if each.run.is_active] == [under_way.pk]
    assert progress.moves
    pause_experiment(experiment=experiment)
    Run.objects.end(under_way.pk, under_way.lease_token, status="finished", outcome="success")
    experiment.refresh_from_db()
    progress = progress_of(experiment, user)
    assert (progress.moves, progress.state) == (False, "paused")
    Run.objects.filter(status="queued").update(status="finished", ended_at=timezone.now())
    assert progress_of(experiment, user).state == "finished"


def run_experiment(*args: str) -> str:
    out = StringIO()
    usual = ("--name", "By command", "--task-set", "miniwob", "--tasks", "click-test")
    call_command("run_experiment", *usual, *args, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_the_same_command_launches_once():
    asked = ("--agent", "oracle", "--agent", "looping", "--trials", "2", "--seeds", "0-1", "--json")
    first, again = json.loads(run_experiment(*asked)), json.loads(run_experiment(*asked))
    assert (first["is_new"], again["is_new"]) == (True, False)
    assert first["experiment"] == again["experiment"]
    assert (first["runs"], first["statuses"]) == (4, {"queued": 4})
    with pytest.raises(CommandError, match="is taken"):
        run_experiment("--agent", "oracle")


def test_a_dry_run_tells_what_it_takes_and_makes_nothing():
    said = json.loads(run_experiment("--agent", "oracle", "--trials", "5", "--dry-run", "--json"))
    assert (said["runs"], said["problem"], said["wall_seconds"]) == (5, None, None)
    assert "5 runs: 1 tasks" in run_experiment("--agent", "oracle", "--trials", "5", "--dry-run")
    assert not Experiment.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--agent", "orakel"], "There is no agent"),
        (["--agent", "oracle", "--seeds", "1-9"], "9 seeds"),
        (["--agent", "oracle", "--policy", "none such"], "no retry policy"),
        (["--agent", "oracle", "--user", "nobody"], "no account"),
        (["--agent", "oracle", "--trials", "0"], "--trials"),
    ],
)
def test_what_cannot_be_is_one_clear_line(wrong: list[str], said: str):
    with pytest.raises(CommandError, match=said) as caught:
        run_experiment(*wrong)
    assert caught.value.returncode == 1
    assert not Experiment.objects.exists()


def test_waiting_ends_with_the_runs_and_tells_of_cancelled_ones(monkeypatch: pytest.MonkeyPatch):
    def sleep(_: float) -> None:
        cancel_experiment(experiment=Experiment.objects.get())
        sweep_runs()

    monkeypatch.setattr("runs.launching.management.commands.run_experiment.time.sleep", sleep)
    with pytest.raises(CommandError, match="1 were cancelled") as caught:
        run_experiment("--agent", "oracle", "--wait")
    assert caught.value.returncode == 1
