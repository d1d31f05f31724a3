"""A site in which every hidden thing holds a word of its own, to be looked for in all answers.

Run `run` waits for a label of every blind viewer; one annotator has labelled it, another study
has settled it after a dispute, an evaluator has judged it, and it has a rerun. Run `disputed`
waits for the adjudicator. That labels agree on the two items `settled` is hidden from every blind
viewer: they label one run a second time, and owe the other a label in another study.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from judging.evaluators.milestones import MECHANICAL, progress_details
from judging.models import (
    Assignment,
    CauseTag,
    Dispute,
    DisputeMessage,
    Evaluation,
    EvaluationBatch,
    EvaluatorVersion,
    FailureReview,
    Label,
    LabelRevision,
    MilestoneTick,
    ReferenceVerdict,
    StepComment,
    Study,
    StudyItem,
)
from judging.replication.services import take_up
from judging.studies.disputes.services import add_message, decide
from judging.studies.labels.assignment import skip
from judging.studies.labels.state import save_draft
from runs.catalogue.milestones.services import set_milestones
from runs.models import (
    AgentConfiguration,
    Attachment,
    Blob,
    Event,
    Experiment,
    Hint,
    HintChoice,
    HintSet,
    ImportJob,
    KnowledgeSet,
    LearningJob,
    Run,
    RunStatus,
    User,
)
from tests.judging.factories import make_dispute, make_label, make_study, next_assignment
from tests.runs.factories import make_run, make_task, make_text, make_user
from webagent.milestones.checks import TextCheck
from webagent.milestones.findings import Definition, Finding, Progress, Rule
from webagent.trajectory.records import (
    AgentRecord,
    ErrorRecord,
    LlmCall,
    RunRecord,
    SourceRecord,
    StepRecord,
    Totals,
)

LABELS = {
    "rationale": "zq-rationale",
    "comment": "zq-comment",
    "revision": "zq-revision",
    "draft": "zq-draft",
    "skip": "zq-skip",
    "message": "zq-message",
    "tag": "zq-tag",
}
AUTHORS = {"bob": "zq-bob", "carl": "zq-carl"}


def verdict_words(of: str) -> dict[str, str]:
    """What evaluators, references and the run itself say, for the run with this prefix."""
    return {
        "reference": f"{of}-reference",
        "evaluation": f"{of}-evaluation",
        "failure": f"{of}-failure-mode",
        "failure_note": f"{of}-failure-note",
        "reason": f"{of}-reason",
        "rule": f"{of}-rule",
        "evaluator_cost": {"zq": "377.13", "zd": "366.13"}[of],
        "reward": {"zq": "0.731250", "zd": "0.631250"}[of].rstrip("0"),
        "step_reward": {"zq": "0.731251", "zd": "0.631251"}[of],
        "specification": f"{of}-specification",
        "anomaly": f"{of}-detector",
        "error": f"{of}-error",
        "knowledge": f"{of}-knowledge",
        "hint": f"{of}-hint",
        "milestone": f"{of}-milestone",
        "milestone_rule": f"{of}-looked-for",
        "milestone_found": f"{of}-found",
        "milestone_report": f"{of}-reported",
    }


def identity_words(of: str) -> dict[str, str]:
    """Who acted, and what tells it."""
    return {
        "agent": f"{of}-agent",
        "agent_version": f"{of}-version",
        "model": f"{of}-model",
        "experiment": f"{of}-experiment",
        "log": f"{of}-log",
        "record": f"{of}-record",
        "cost": {"zq": "388.12", "zd": "355.12"}[of],
        "tokens": {"zq": "987654321", "zd": "876543219"}[of],
    }


def words_of(of: str) -> dict[str, str]:
    """Everything hidden of the run with this prefix: "zq" the run to label, "zd" the disputed."""
    return {f"{of} {key}": word for key, word in (verdict_words(of) | identity_words(of)).items()}


@dataclass
class World:
    """What addresses are filled from."""

    run: Run
    disputed: Run
    rerun: Run
    study: Study
    other_study: Study
    dispute: Dispute
    other_dispute: Dispute
    evaluator: EvaluatorVersion
    picture: Blob
    log: Blob
    job: ImportJob
    annotator: User
    adjudicator: User
    engineer: User
    admin: User
    stranger: User
    others: list[User] = field(default_factory=list)
    settled: list[StudyItem] = field(default_factory=list)
    batches: list[EvaluationBatch] = field(default_factory=list)
    knowledge: list[KnowledgeSet] = field(default_factory=list)
    hints: list[Hint] = field(default_factory=list)


def make_world() -> World:
    """The site as it stands while its blind viewers still have to judge."""
    bob, carl = (make_user("annotator", name) for name in AUTHORS.values())
    dave = make_user("annotator", "dave")
    judge = make_user("adjudicator", "judy")
    blind = {
        "annotator": make_user("annotator", "ann"),
        "engineer": make_user("engineer", "eve"),
        "admin": make_user("admin", "root"),
    }
    run = hidden_run("zq", "the run")
    disputed = hidden_run("zd", "the disputed run")
    rerun = hidden_run("zq", "the rerun", rerun_of=run)
    study = make_study(
        runs=[run, make_run(pictures=False)],
        annotators=[bob, *blind.values()],
        adjudicators=[judge],
        name="Garden",
        labels_per_run=5,  # a place for everybody
    )
    _label_with_everything(study.items.get(run=run), bob)
    other_study, other_dispute = _settled_elsewhere(run, bob, carl)
    _dispute(disputed, bob, carl, judge)
    evaluator = judge_runs({run: "zq", rerun: "zq", disputed: "zd"})
    _reach_milestones({run: "zq", rerun: "zq", disputed: "zd"})
    _tag(other_study.items.get(run=run), evaluator, carl)
    tell_failures({run: "zq", rerun: "zq", disputed: "zd"}, carl)
    for user in blind.values():
        _hold(study.items.get(run=run), user)
    job = ImportJob.objects.create(
        created_by=dave, file_name="runs.zip", path="x", size=1, state="finished"
    )
    picture = run.steps.get(index=0).screenshot
    assert picture is not None
    make_replications()
    return World(
        run=run,
        disputed=disputed,
        rerun=rerun,
        study=study,
        other_study=other_study,
        dispute=Dispute.objects.get(item__run=disputed),
        other_dispute=other_dispute,
        evaluator=evaluator,
        picture=picture,
        log=run.attachments.get().blob,
        job=job,
        adjudicator=judge,
        stranger=make_user("annotator", "nobody"),
        others=[bob, carl, dave],
        settled=[
            _settled_and_shown_again([bob, *blind.values()]),
            _settled_and_owed(study.items.exclude(run=run).get().run, [carl, dave]),
        ],
        batches=make_batches(study, [run, disputed], evaluator),
        knowledge=make_knowledge({run: "zq", disputed: "zd"}),
        hints=make_hints({run: "zq", disputed: "zd"}),
        **blind,
    )


def make_replications() -> None:
    """One of each hidden experiment, and one of the studies alone."""
    head = """format = "crosscheck-study/1"\n[paper]\ntitle = "A paper"\n"""
    for of in ("zq", "zd"):
        name = identity_words(of)["experiment"]
        content = f"""name = "Of {name}"\n{head}
[arms.walked]
experiment = "{name}"
paper = {{ model = "m", max_steps = 3, trials = 9 }}
[[tables]]
key = "accuracy"
title = "Accuracy"
place = "Table 1"
report = "configurations"
columns = [{{ key = "value" }}, {{ key = "mean_cost" }}]
rows = [{{ name = "walked", arm = "walked", published = {{ value = 0.5, mean_cost = 1 }} }}]
"""
        take_up(content=content.encode(), file_name=f"{of}.toml", user=None)
    content = f"""name = "Of studies"\n{head}
[judging.garden]
study = "Garden"
[judging.elsewhere]
study = "Elsewhere"
paper = {{ annotators = 9, runs = 9, judge_model = "m" }}
[[tables]]
key = "verdicts"
title = "Verdicts"
place = "Table 2"
report = "matrices"
columns = [{{ key = "tp" }}, {{ key = "fn" }}]
rows = [
  {{ name = "garden", judging = "garden", published = {{ tp = 1, fn = 1 }} }},
  {{ name = "elsewhere", judging = "elsewhere", published = {{ tp = 1, fn = 1 }} }},
]
"""
    take_up(content=content.encode(), file_name="studies.toml", user=None)


def hidden_run(of: str, goal: str, **fields: Any) -> Run:
    """A run whose outcome, reward, agent, model, cost and files all hold a word."""
    says, is_by = verdict_words(of), identity_words(of)
    agent, _ = AgentConfiguration.objects.get_or_create(
        config_hash=f"{of}-hash",
        defaults={
            "name": is_by["agent"],
            "version": is_by["agent_version"],
            "model": is_by["model"],
            "model_names": [is_by["model"]],
            "config": {"model": is_by["model"]},
        },
    )
    experiment, _ = Experiment.objects.get_or_create(name=is_by["experiment"])
    log = make_text(f"{is_by['log']} {is_by['model']}")
    task = make_task(
        f"task of {goal}",
        goal=goal,
        spec={"reference_answers": {"exact_match": says["specification"]}},
        reference={"answer": says["specification"]},
    )
    run = make_run(
        steps=[_step_fields(index, of) for index in range(2)],
        task=task,
        agent=agent,
        experiment=experiment,
        outcome=Run.Outcome.INCOMPLETE,
        end_reason=Run.EndReason.COST_LIMIT,
        reward=float(says["reward"]),
        error_message=says["error"],
        cost=Decimal(is_by["cost"]),
        input_tokens=int(is_by["tokens"]),
        record=_run_record(of),
        content_hash=f"{of}-hash-{goal}",
        has_anomaly=True,
        **fields,
    )
    Attachment.objects.create(run=run, role="log", name=is_by["log"], blob=log)
    Event.objects.create(
        run=run,
        kind=Event.Kind.FALSE_COMPLETION,
        first_step=0,
        last_step=1,
        detector=says["anomaly"],
    )
    return run


def _run_record(of: str) -> dict[str, Any]:
    """The run as it came in, with everything hidden once more."""
    says, is_by = verdict_words(of), identity_words(of)
    record = RunRecord(
        id="zq",
        task_id="zq",
        source=SourceRecord(format="native", tool=is_by["agent"]),
        agent=AgentRecord(name=is_by["agent"], version=is_by["agent_version"]),
        models=(is_by["model"],),
        experiment=is_by["experiment"],
        outcome="incomplete",
        end_reason="cost_limit",
        reward=float(says["reward"]),
        error=ErrorRecord(message=says["error"]),
        totals=Totals(input_tokens=int(is_by["tokens"]), cost=Decimal(is_by["cost"])),
        extra={"note": is_by["record"]},
    )
    return record.model_dump(mode="json", exclude_unset=True)


def _step_fields(index: int, of: str) -> dict[str, Any]:
    says, is_by = verdict_words(of), identity_words(of)
    record = StepRecord(
        run_id="zq",
        index=index,
        reward=float(says["step_reward"]),
        llm_calls=(LlmCall(model=is_by["model"], input_tokens=int(is_by["tokens"])),),
        extra={"note": is_by["record"], "milestones": {says["milestone_report"]: True}},
    )
    return {
        "reward": float(says["step_reward"]),
        "cost": Decimal(is_by["cost"]),
        "input_tokens": int(is_by["tokens"]),
        "record": record.model_dump(mode="json", exclude_unset=True),
    }


def _settled_elsewhere(run: Run, bob: User, carl: User) -> tuple[Study, Dispute]:
    """Another study that has settled the run, after a dispute with a discussion."""
    judge = make_user("adjudicator", "other-judge")
    study = make_study(runs=[run], annotators=[bob, carl], adjudicators=[judge], name="Elsewhere")
    dispute = make_dispute(study)
    Label.objects.filter(item__study=study).update(rationale=LABELS["rationale"])
    add_message(dispute=dispute, author=bob, text=LABELS["message"], proposal="success")
    decide(
        dispute=dispute,
        adjudicator=judge,
        verdict="failure",
        rationale=verdict_words("zq")["reference"],
    )
    ReferenceVerdict.objects.update(decided_at=timezone.now() - timedelta(minutes=5))
    return study, dispute


def _label_with_everything(item: StudyItem, user: User) -> None:
    """A label with rationale, history and comment; a draft and a skip of the next run."""
    label = make_label(item, user, "failure", rationale=LABELS["rationale"], causes=["misread"])
    LabelRevision.objects.create(label=label, content={"rationale": LABELS["revision"]})
    StepComment.objects.create(item=item, author=user, step_index=0, text=LABELS["comment"])
    assignment = next_assignment(study=item.study, user=user)
    assert assignment is not None
    save_draft(assignment=assignment, user=user, draft={"rationale": LABELS["draft"]}, seconds=0)
    skip(assignment=assignment, user=user, reason=LABELS["skip"])


def _dispute(run: Run, bob: User, carl: User, judge: User) -> None:
    """A dispute that waits for the adjudicator."""
    study = make_study(runs=[run], annotators=[bob, carl], adjudicators=[judge], name="Disputed")
    dispute = make_dispute(study)
    Label.objects.filter(item=dispute.item).update(rationale="seen by the adjudicator")
    add_message(dispute=dispute, author=bob, text="I looked twice", proposal="success")


def make_batches(
    study: Study, selection: list[Run], evaluator: EvaluatorVersion
) -> list[EvaluationBatch]:
    """A batch over the study and one over a selection, with what both say of the hidden runs."""
    batches = []
    for of_study, runs in ((study, [selection[0]]), (None, selection)):
        batch = EvaluationBatch.objects.create(
            study=of_study,
            evaluator=evaluator,
            model=verdict_words("zq")["rule"],
            state=EvaluationBatch.State.CANCELLED,
            n_total=9,
            n_passed=len(runs),
            n_done=len(runs),
            spent=Decimal(verdict_words("zq")["evaluator_cost"]),
            problem=verdict_words("zq")["reason"],
        )
        for position, run in enumerate(runs):
            batch.items.create(run=run, position=position, is_done=True)
        batches.append(batch)
    return batches


def make_knowledge(runs: dict[Run, str]) -> list[KnowledgeSet]:
    """A raw set and its summary, both with what a model made of the hidden runs."""
    job = LearningJob.objects.create(kind="extract", state="cancelled", params={"name": "Garden"})
    sets = [
        KnowledgeSet.objects.create(name="Garden", site="shopping", kind=kind, job=job)
        for kind in KnowledgeSet.Kind.values
    ]
    for position, (run, of) in enumerate(runs.items()):
        word = verdict_words(of)["knowledge"]
        job.items.create(key=str(run.pk), position=position, is_done=True, problem=word)
        for each in sets:
            entry = each.entries.create(
                position=position,
                intent=word,
                ok=word,
                ng=word,
                problem="" if each.is_raw else word,
            )
            entry.sources.create(run=run, steps=[0, 1])
    return sets


def judge_runs(runs: dict[Run, str]) -> EvaluatorVersion:
    """What an evaluator says of the runs, each with its words."""
    evaluator = EvaluatorVersion.objects.create(
        name="matcher", kind="matcher", version="1", config_hash="matcher"
    )
    for run, of in runs.items():
        says = verdict_words(of)
        Evaluation.objects.create(
            run=run,
            evaluator=evaluator,
            verdict="passed",
            score=1.0,
            rationale=says["evaluation"],
            reason=says["reason"],
            cost=Decimal(says["evaluator_cost"]),
            details={"rule": says["rule"]},
        )
    return evaluator


def _reach_milestones(runs: dict[Run, str]) -> None:
    """What the tasks' milestones are, and who found which of them reached."""
    finder = EvaluatorVersion.objects.create(
        name=MECHANICAL, kind="milestones", version="1", config_hash="milestones"
    )
    for run, of in runs.items():
        says = verdict_words(of)
        rule = Rule(reached_when=TextCheck(text=says["milestone_rule"]))
        milestones = [Definition(name=says["milestone"], rule=rule)]
        set_milestones(task=run.task, milestones=milestones)
        why = Finding(name=says["milestone"], achieved_at=0, rationale=says["milestone_found"])
        details = progress_details(milestones, [why], Progress((100.0, 100.0), 100.0, 100.0))
        Evaluation.objects.create(
            run=run, evaluator=finder, verdict="passed", score=1.0, details=details
        )
        row = run.task.milestones.in_force().get()
        MilestoneTick.objects.bulk_create(
            MilestoneTick(label=label, milestone=row, achieved=True, step=0)
            for label in Label.objects.filter(item__run=run)
        )


def tell_failures(runs: dict[Run, str], user: User) -> None:
    """How the runs failed: proposed by a judge, and changed by a person."""
    judge = EvaluatorVersion.objects.create(
        name="failure-judge", kind="modes", version="1", config_hash="failure-judge"
    )
    for run, of in runs.items():
        says = verdict_words(of)
        said = {"rationale": says["failure"], "steps": [0]}
        Evaluation.objects.create(
            run=run,
            evaluator=judge,
            verdict="not_applicable",
            details={"failure_modes": {"plan_error": said}, "side": "reasoning"},
        )
        FailureReview.objects.create(
            run=run,
            decision="changed",
            modes={"misread_observation": {}},
            note=says["failure_note"],
            proposed={"modes": ["plan_error"]},
            by=user,
        )


def _tag(item: StudyItem, evaluator: EvaluatorVersion, user: User) -> None:
    """Why the evaluator is wrong about the run: tells both its verdict and the reference."""
    CauseTag.objects.create(
        item=item,
        evaluator=evaluator,
        evaluator_name=evaluator.name,
        error=CauseTag.Error.FP,
        causes=["too_lenient"],
        repair="evaluation_logic",
        note=LABELS["tag"],
        by=user,
    )


def _settled_and_shown_again(people: list[User]) -> StudyItem:
    """Of two runs on which labels agree, one that all but the first person judge once more."""
    study = make_study(runs=2, annotators=people, labels_per_run=len(people), name="Again")
    again, settled = study.items.order_by("position")
    for user in people:
        make_label(again, user, "failure")
        make_label(settled, user, "failure")
    for user in people[1:]:
        _hold(again, user, is_repeat=True)
    return again


def _settled_and_owed(run: Run, people: list[User]) -> StudyItem:
    """A run on which the labels of people agree whom no blind viewer knows."""
    item = make_study(runs=[run], annotators=people, name="Known").items.get()
    for user in people:
        make_label(item, user, "failure")
    return item


def _hold(item: StudyItem, user: User, *, is_repeat: bool = False) -> None:
    """The run in the person's hands, to be labelled."""
    Assignment.objects.create(
        item=item,
        user=user,
        is_repeat=is_repeat,
        leased_until=timezone.now() + timedelta(hours=1),
        opened_at=timezone.now(),
    )


def make_hints(runs: dict[Run, str]) -> list[Hint]:
    """A hint from each of the runs, which tells that they succeeded, chosen for its own task."""
    params = {
        "runs": [str(run.pk) for run in runs],
        "levels": ["concrete"],
        "verdict": "reference",
        "verdict_name": "x",
    }
    job = LearningJob.objects.create(kind="hints", state="finished", model="m", params=params)
    hints = []
    for run, of in runs.items():
        hint = Hint.objects.create(
            job=job,
            source=run,
            level="concrete",
            text=verdict_words(of)["hint"],
            model="m",
            prompt_version="1",
            prompt_hash="0" * 64,
            asks=1,
            input_tokens=1,
            output_tokens=1,
            seconds=0.1,
        )
        key = f"concrete.same_task.{of}"
        told = HintSet.objects.create(key=key, job=job, level="concrete", relatedness="same_task")
        HintChoice.objects.create(hint_set=told, task=run.task, hint=hint, score=0.0, n_tied=1)
        hints.append(hint)
    return hints


def turn_round(world: World, *, turns_disputed: bool) -> None:
    """Everything hidden says the opposite, or something else; all that may be seen stays.

    Args:
        turns_disputed: the disputed run too. Not for engineers, who have no part in its study
            and so may see all of it.
    """
    Label.objects.filter(item__study=world.study).update(
        success="success", rationale="something else", causes=[], confidence=3, failure_step=1
    )
    Label.objects.filter(item__study=world.other_study).update(success="unsure", rationale="-")
    StepComment.objects.update(text="another remark")
    CauseTag.objects.all().delete()
    LabelRevision.objects.update(content={"rationale": "-"})
    DisputeMessage.objects.filter(dispute=world.other_dispute).update(text="-", proposal="failure")
    _undo_settling(world)
    elsewhere = ReferenceVerdict.objects.filter(item__study=world.other_study)
    elsewhere.update(verdict="success", rationale="the other way round")
    turned = [world.run, world.rerun, *([world.disputed] if turns_disputed else [])]
    for agent in AgentConfiguration.objects.filter(runs__in=turned):
        # As many names as before: how many agents there are is hidden from nobody.
        AgentConfiguration.objects.filter(pk=agent.pk).update(
            name=f"another agent {agent.pk}",
            version="9",
            model=f"another model {agent.pk}",
            model_names=[],
            config={},
        )
    for run in turned:
        Experiment.objects.filter(runs=run).update(name=f"another {run.experiment_id}")
        turn_run(run)
    world.rerun.evaluations.all().delete()  # one says the opposite, and one is not there at all
    Run.objects.filter(pk=world.rerun.pk).update(status=RunStatus.FAILED)  # one ended, one broke


def _undo_settling(world: World) -> None:
    """What labels settled is in dispute: one of another person does not agree."""
    bob, carl, _ = world.others
    Label.objects.filter(item__in=world.settled, annotator__in=[bob, carl]).update(
        success="success"
    )
    ReferenceVerdict.objects.filter(item__in=world.settled).delete()
    for item in world.settled:
        Dispute.objects.create(item=item, order_seed=1)
        StudyItem.objects.filter(pk=item.pk).update(status=StudyItem.Status.DISPUTED)


def turn_run(run: Run) -> None:
    """Everything that the run, its steps and its evaluators say, the other way round."""
    HintChoice.objects.filter(hint__source=run).delete()
    Hint.objects.filter(source=run).delete()
    run.evaluations.update(
        verdict="failed", score=0.0, rationale="-", reason="-", details={}, record={}, cost=None
    )
    for step in run.steps.all():
        record = {"run_id": "zq", "index": step.index, "reward": 0.0}
        run.steps.filter(pk=step.pk).update(reward=0.0, cost=None, input_tokens=7, record=record)
    run.events.all().delete()
    FailureReview.objects.filter(run=run).delete()
    Run.objects.filter(pk=run.pk).update(
        outcome=Run.Outcome.SUCCESS,
        end_reason=Run.EndReason.TASK_ENDED,
        reward=0.0,
        error_message="",
        cost=None,
        input_tokens=7,
        record={
            "id": "other",
            "task_id": "other",
            "source": {"format": "native"},
            "agent": {"name": "another agent"},
            "outcome": "success",
            "reward": 0.0,
        },
        content_hash=f"another {run.pk}",
        has_anomaly=False,
    )
