"""What the world of the blinding tests has no need of, so that every page has something to show.

Each function adds rows and answers the visits that show them. Strings in columns are made hostile
by `poison` afterwards; those inside JSON hold what a stranger would write from the start.
"""

import json
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.urls import reverse
from django.utils import timezone

from judging.analysis.audits.verdict_sources import STEPS
from judging.analysis.miniwob.proposing import Fault
from judging.analysis.miniwob.services import draw_sample, tag_cause
from judging.evaluating.evaluating import evaluate_study
from judging.evaluators.registry import evaluator_named
from judging.models import EvaluationBatch, FailureCause, LabelImport, Replication, Study
from judging.studies.labels.assignment import skip
from judging.studies.labels.ticks import Tick
from runs.catalogue.milestones.services import set_milestones
from runs.models import (
    AgentConfiguration,
    Attachment,
    ImportJob,
    KnowledgeSet,
    RetryPolicy,
    Run,
    RunStatus,
    TaskRevision,
    TaskSet,
    User,
)
from tests.judging.analysis import audited
from tests.judging.analysis.failure_modes.test_shares import PLAN
from tests.judging.analysis.hint_effects.made import hint_experiment
from tests.judging.analysis.miniwob.made import suite
from tests.judging.analysis.progress import world as progress
from tests.judging.factories import (
    annotators_of,
    label_next,
    make_label,
    make_study,
    next_assignment,
)
from tests.judging.studies.blind_world import World
from tests.judging.studies.url_cases import CASES, EXPERIMENTS, Visit
from tests.runs.factories import make_agent, make_run, make_task
from tests.runs.viewer.test_step_calls import prompt, run_with
from tests.security.payloads import PAYLOADS
from webagent.milestones.findings import Definition, Finding

EVIL = "\n".join(PAYLOADS)
STAGE = {"name": "equivalence", "verdict": "passed", "rationale": EVIL, "model": EVIL}
CRITERION = {"name": EVIL, "label": EVIL, "verdict": EVIL, "rationale": EVIL, "steps": [0]}
ASKED = {"criteria": [CRITERION], "prompt": EVIL, "error": EVIL, "steps": [0]}
CHECK = {"name": EVIL, "verdict": EVIL, "expected": EVIL, "actual": EVIL[::-1], "message": EVIL}
SAID = {
    "stages": [STAGE, {**STAGE, **ASKED, "name": "inclusion"}],
    "checks": [{**CHECK, "normalised": EVIL, "rules": [EVIL]}],
    "rules": [EVIL],
}
"""What a judge and a matcher may have said, as it lies beside their verdict."""
FRAGMENT = {"HX-Request": "true"}


@dataclass
class Crowd:
    """What was added: where it shows and to whom, and which rows say what they say for a reason."""

    world: World
    overseer: User
    visits: list[tuple[User, Visit]] = field(default_factory=list)
    spared: list[Model] = field(default_factory=list)
    reported: list[Study] = field(default_factory=list)

    def show(self, name: str, *args: object, query: str = "", **how: Any) -> None:
        """The overseer, or whoever `to` is, looks at the address of this name."""
        path = reverse(name, args=args) + (f"?{query}" if query else "")
        fields = {key: value for key, value in how.items() if key != "to"}
        self.visits.append((how.get("to", self.overseer), Visit(path, **fields)))


def crowd(world: World, overseer: User) -> Crowd:
    """Add all of it."""
    made = Crowd(world, overseer)
    for part in _PARTS:
        part(made)
    return made


def _imports(to: Crowd) -> None:
    """A file that waits for a word, one that is in, and one that was read again."""
    problem = {"source": EVIL, "file": EVIL, "field": EVIL, "reason": EVIL}
    counted = {EVIL: 2, PAYLOADS[0]: 1}
    found = {
        **{"format": EVIL, "version": EVIL, "runs": 2, "already_there": 1, "steps": 3},
        **{"screenshots": 1, "labels": 1, "verdicts": 1, "evaluations": 1, "outcomes": counted},
        **{"evaluators": counted, "gaps": counted, "dropped": counted, "redacted": counted},
    }
    run = {
        **{"source": EVIL, "run": str(to.world.run.pk), "steps": 1, "screenshots": 1, "labels": 1},
        **{"evaluations": 1, "gaps": 1, "dropped": 1, "redacted": 1},
    }
    again = {"source": EVIL, "run": str(to.world.run.pk), "became": "kept", "reason": EVIL}
    question = {"key": "who", "text": EVIL, "choices": {EVIL: EVIL}, "unanswered": EVIL}
    lists = {"rejected": [problem], "problems": [problem]}
    counts = {"runs": 2, "rejected": 2, "problems": 2, "unread": 9, "imported": 2, "labels": 1}
    first = _job(
        to.overseer,
        keeps_file=True,
        report={"counts": counts, "imported": [run], "already_there": [run], **lists},
    )
    looked = {"formats": [found], "questions": [question], "unread": [EVIL], "counts": counts}
    again_counts = {"counts": {"kept": 1, "new": 1}, "runs": [again]}
    jobs = [
        first,
        _job(to.overseer, only_looks=True, survey={**looked, **lists, "again": again_counts}),
        _job(to.overseer, reads_again=first, report={"counts": counts, "read_again": [again]}),
    ]
    for job in jobs:
        to.show("runs:import_detail", job.pk)


def _label_imports(to: Crowd) -> None:
    """Files with labels: one that waits for a word, one with bad rows, one that is in."""
    named = {"name": EVIL, "rows": 1, "version": EVIL, "is_new": True}
    counts = {"rows": 2, "labels": 1, "verdicts": 1, "adjudications": 0, "already_there": 1}
    counts |= {
        "bad": 0,
        "settled": 1,
        "disputed": 1,
        "waiting": 1,
        "n_people": 9,
        "n_evaluators": 9,
        "runs": 1,
    }
    found = {"people": [named], "evaluators": [named], "unread": [{"name": EVIL, "line": 1}]}
    bad = {"counts": counts | {"bad": 9}, "listed": [{"line": 2, "field": EVIL, "reason": EVIL}]}
    for only_looks, report in (
        (True, {"counts": counts}),
        (False, {"counts": counts}),
        (True, bad),
    ):
        sent = LabelImport.objects.create(
            **{"created_by": to.overseer, "file_name": "f", "path": "x", "size": 1},
            **{"state": "finished", "study_name": "s", "problem": "p"},
            **{"only_looks": only_looks, "report": found | report},
        )
        to.show("judging:label_import_detail", sent.pk)
    to.show("judging:label_import_list")
    sent_again = {"study": EVIL[:50], "file": SimpleUploadedFile(EVIL, EVIL.encode())}
    to.show("judging:label_import_list", data=sent_again)


def _job(owner: User, **fields: Any) -> ImportJob:
    return ImportJob.objects.create(
        **{
            **{"created_by": owner, "file_name": "f", "path": "x", "size": 1, "problem": "p"},
            **{"state": "finished", "ended_at": timezone.now()},
            **fields,
        }
    )


def _work(to: Crowd) -> None:
    """Runs under way and under a policy, attempts that broke, what a model was asked."""
    policy = RetryPolicy.objects.order_by("pk")[0]
    recovery = {"extra": {"recovery": {"recoveries": [{"at": 1, "words": EVIL}]}}}
    make_run(pictures=False, policy=policy, record=recovery)
    make_run(policy=policy, end_reason="harness_loop_stop", outcome="failure", pictures=False)
    to.show("runs:policy_detail", policy.pk)
    live = make_run(status=RunStatus.RUNNING, outcome="unknown", pictures=False)
    to.show("runs:run_detail", live.pk)
    fault: dict[str, Any] = {
        "status": "failed",
        "outcome": "error",
        "reward": None,
        "fault": "http_5xx",
    }
    broken = make_run(source_format="crosscheck-agent", steps=0, goal=EVIL, **fault)
    to.spared.append(broken)
    to.show("runs:infrastructure")
    said = prompt(("user", EVIL), (EVIL, EVIL), system=EVIL, model=EVIL)
    asked = run_with((said, {"text": EVIL}, EVIL), (EVIL, EVIL, None))
    Attachment.objects.filter(run=asked).update(name=EVIL[:100])
    to.spared += Attachment.objects.filter(run=asked)
    to.show("runs:run_calls", asked.pk, 0)
    both = f"a={to.world.run.pk}&b={to.world.disputed.pk}&steps=all"
    to.show("runs:run_compare", query=both)


def _tasks(to: Crowd) -> None:
    """A task that a patch changed."""
    before = to.world.run.task
    patched = TaskSet.objects.create(name=before.task_set.name, version="p", parent=before.task_set)
    task = make_task(task_set=patched, original=before, spec={"reference_url": EVIL})
    change = {"op": "replace", "path": "/spec/reference_url", "from": EVIL, "to": EVIL[::-1]}
    TaskRevision.objects.create(task=task, category="reference", why="why", changes=[change])
    to.show("runs:task_detail", task.pk)
    to.show("runs:task_set_detail", patched.pk)


def _compared(to: Crowd) -> None:
    """Three people and evaluators of several steps, who differ; switches and files of it too."""
    made = audited.study("Compared")
    people = [audited.person(f"compared {n}") for n in range(3)]
    judge = audited.evaluator("two steps", kind="judge", config={"stages": list(STEPS)[1:]})
    for number in range(6):
        answer = {"eval_types": ["string_match"], "reference_answers": {"exact_match": "15213"}}
        task = audited.task(f"compared {number}", spec=answer, template=str(number % 2))
        run = audited.run(task, final_answer="The code is 15213.")
        says = "success" if number % 2 else "failure"
        item = made.add(says, [(user, says) for user in people], of=run)
        audited.evaluation(item.run, judge, "failed", reason="r", is_current=False)
        audited.evaluation(item.run, judge, "passed", details=SAID, reason="r", cost="0.1")
    to.spared += Run.objects.filter(study_items__study=made.study)  # their answers decide
    for name in ("webarena-strict", "webarena-repaired"):
        to.spared.append(evaluate_study(made.study, evaluator_named(name)))
    strict, study = to.spared[-2], made.study
    for name in ("audit", "audit_agreement", "audit_people", "audit_pairs"):
        to.show(f"judging:{name}", study.pk)
    compared = f"first={strict.pk}&second={judge.pk}"
    to.show("judging:audit_compare", study.pk, query=compared)
    for name in ("what_if", "what_if_rules"):
        for switched in ("off=hedging", "on=sentence&sent=1"):
            query = f"evaluator={strict.pk}&{switched}"
            to.show(f"judging:{name}", study.pk, query=query, headers=FRAGMENT)
    for one in (strict, judge):
        for cell in ("fp", "tn"):
            query = f"study={study.pk}&audit={one.pk}&cell={cell}"
            run_id = made.items[0].run_id
            to.show("judging:run_judgements", run_id, query=query, headers=FRAGMENT)
    to.reported.append(study)


def _progress(to: Crowd) -> None:
    """A judge of milestones beside people who ticked them."""
    study = make_study(runs=[make_run(steps=2, pictures=False) for _ in range(3)])
    judge = progress.judge("milestones-judge", model=PAYLOADS[0])
    names = [f"{PAYLOADS[0]} {n}" for n in range(2)]
    for item in study.items.select_related("run__task"):
        milestones = [Definition(name=name) for name in names]
        set_milestones(task=item.run.task, milestones=milestones)
        rows = list(item.run.task.milestones.in_force())
        ticks = tuple(Tick(milestone=row.pk, achieved=True, step=None) for row in rows)
        for user in annotators_of(study):
            make_label(item, user, ticks=ticks)
        found = [Finding(name=names[0], achieved_at=0, rationale=EVIL)]
        progress.evaluated(item.run, found, judge)
        to.spared += rows
    to.spared.append(judge)
    to.show("judging:audit_progress", study.pk)
    cell = {"task": item.run.task_id, "milestone": names[1], "cell": "people"}
    to.show("judging:audit_progress", study.pk, query=urlencode(cell))


def _hints(to: Crowd) -> None:
    told = {"concrete.same_task": ["sss", "sse"], "concrete.other_site_lowest": ["fff", "sff"]}
    of = hint_experiment(told, ["sff", "ssf"])
    to.spared += AgentConfiguration.objects.filter(runs__experiment=of).distinct()
    to.show("judging:hint_report", of.pk, query="verdict=reward")
    for key in told:
        to.show("judging:hint_cell", of.pk, *key.split("."), query="verdict=reward")


def _knowledge_given(to: Crowd) -> None:
    """A run whose agent was given a part of its web knowledge."""
    sha256 = "0" * 64
    content = {"set": EVIL, "sha256": sha256, "entries": []}
    agent = make_agent("knowing", config={"knowledge": content})
    kept = KnowledgeSet.objects.create(
        name="Given", site="shopping", kind="raw", content_hash=sha256
    )
    kept.entries.create(position=0, intent="intent", ok="ok", ng="ng")
    said = {"given": 0, "left_out": [0], "budget_tokens": 9, "room_tokens": 8}
    run = make_run(pictures=False, agent=agent, record={"extra": {"knowledge": said}})
    to.show("runs:run_detail", run.pk)


def _failures(to: Crowd) -> None:
    """Failures of MiniWoB++, drawn, proposed and tagged; failure modes by a judge."""
    of, agent = suite()
    sample = draw_sample(experiment=of, agent=agent, seed=4)
    finding = {"step": 1, "role": EVIL, "text": EVIL, "fault": Fault.values[0], "read": EVIL}
    sample.failures.update(proposal={"cause": "vision", "findings": [finding]})
    runs = [each.run for each in sample.failures.select_related("run").order_by("position")]
    for cause in (FailureCause.REASONING, FailureCause.OTHER):
        tag_cause(user=to.overseer, run_id=runs[1].pk, cause=cause, note="note")
    to.spared += [each.task for each in runs] + [runs[0].task.task_set]
    to.show("judging:failure_causes", of.pk)
    to.show("judging:failure_cause", runs[1].pk, query=f"sample={sample.pk}")
    to.show("judging:experiment_part", of.pk, "miniwob", query="verdict=reward")
    by = audited.evaluator("failure-judge", kind="modes")
    to.spared.append(by)
    named = {PLAN.value: {"rationale": EVIL, "steps": [0, 1]}}
    told = {"failure_modes": named, "side": "reasoning"}
    audited.evaluation(runs[0], by, "not_applicable", details=told)
    to.show("judging:run_judgements", runs[0].pk, headers=FRAGMENT)


def _labels(to: Crowd) -> None:
    """What those see who label: their own labels, what they skipped, milestones to tick."""
    bob, study = to.world.others[0], to.world.study
    for name in ("study_detail", "annotate"):
        to.show(f"judging:{name}", study.pk, to=bob)
    to.show("judging:run_judgements", to.world.run.pk, to=bob, headers=FRAGMENT)
    # Decided, and another study hides its run from them.
    to.show("judging:dispute_message", to.world.other_dispute.pk, to=bob, data={"text": EVIL})
    to.show("judging:audit", study.pk, to=to.world.engineer)
    ticked = make_study(runs=[make_run(pictures=False)], annotators=[bob], asks_milestones=True)
    set_milestones(task=ticked.items.get().run.task, milestones=progress.milestones(2))
    to.show("judging:annotate", ticked.pk, to=bob)
    done = make_study(runs=2, annotators=[bob, to.world.others[1]])
    late = label_next(done, bob).item
    make_label(late, to.world.others[1])
    form = {"assignment": late.assignments.get(user=bob).pk, "key": "late", "success": "failure"}
    to.show("judging:annotate", done.pk, to=bob, data=form | {"rationale": EVIL})
    for _ in range(2):
        assignment = next_assignment(study=done, user=bob)
        assert assignment is not None
        skip(assignment=assignment, user=bob, reason="why")
    to.show("judging:annotate", done.pk, to=bob)


def _asked(to: Crowd) -> None:
    """What forms say of a wish, what stands in windows, and addresses that say nonsense."""
    for name in _WISHES:
        sent = [visit for visit in CASES[name](to.world) if visit.data is not None]
        asked = [each for each in sent if each.data and "estimate" in each.data] or sent
        to.visits.append((to.overseer, replace(asked[0], headers=FRAGMENT)))
    first, second = EXPERIMENTS(to.world)
    compared = f"a={first}&b={second}&verdict=reward&cell=neither"
    to.show("judging:experiment_compare", query=compared)
    to.show("judging:experiment_runs", first, query=urlencode({"mode": EVIL}))
    to.show("runs:job_drawer", headers=FRAGMENT)
    to.show("runs:run_rerun", to.world.run.pk, headers=FRAGMENT)
    for field_name in ("zx", EVIL[:60]):
        to.show("runs:run_list", query=urlencode({field_name: EVIL}))
    to.show("login", query=urlencode({"next": EVIL}))
    to.show("login", data={"username": EVIL, "password": EVIL, "next": EVIL})
    args = [to.world.study.pk, to.world.others[0].pk]
    to.show("judging:member_remove", *args, data={})  # is told on the next page, by name
    to.show("judging:study_detail", to.world.study.pk)


def _judged(to: Crowd) -> None:
    """A batch that came to no verdict on some runs."""
    batch = to.world.batches[1]
    audited.evaluation(make_run(steps=0), batch.evaluator, "error", reason="why", batch=batch)
    EvaluationBatch.objects.filter(pk=batch.pk).update(n_error=1)
    to.show("judging:batch_detail", batch.pk)


_WISHES = (
    "judging:hint_write",
    "judging:runs_evaluate",
    "runs:experiment_new",
    "runs:hint_experiment_new",
    "runs:knowledge_extract",
    "runs:policy_reruns",
    "runs:policy_preview",
)
"""Forms that say what a wish takes, before it is one."""


def _replications(to: Crowd) -> None:
    """One whose study file cannot be read: the page names what stands there."""
    content = f'format = "crosscheck-study/1"\n{json.dumps(EVIL)} = 1\n'
    unreadable = Replication.objects.create(
        name="unreadable", file_name=EVIL[:200], content=content
    )
    to.spared.append(unreadable)
    to.show("judging:replication_detail", unreadable.pk)


_PARTS = (
    *(
        _imports,
        _replications,
        _label_imports,
        _work,
        _tasks,
        _compared,
        _progress,
        _hints,
        _knowledge_given,
        _failures,
        _labels,
        _judged,
    ),
    _asked,
)
