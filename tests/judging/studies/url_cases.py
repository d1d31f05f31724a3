"""How the blinding tests visit every address of the site.

Every URL pattern has one entry here, by its name (`runs:run_detail`), or by its route where it
has no name; a pattern without an entry fails `test_blinding_urls.py`. An entry lists the visits
that could show something of a hidden run: fill the arguments from the `World`, add the query
strings that sort, filter or search, and send forms to what only takes POST. Every visit is
undone afterwards.
"""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import cycle, product
from typing import Any

from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from judging.analysis.audits.comparing.study_reports import TWO_STUDIES
from judging.analysis.audits.reports import AUDIT
from judging.analysis.experiments.pictures import QUESTIONS
from judging.analysis.experiments.reports import EXPERIMENT, SECTIONS
from judging.analysis.hint_effects.pictures import MAPS
from judging.analysis.hint_effects.reports import HINTS
from judging.api.urls import urlpatterns as api_addresses
from judging.models import Replication, StudyItem
from judging.portability.judgements.data_tables import DATA_FORMATS, DATA_TABLES
from runs.models import RetryPolicy
from tests.judging.studies.blind_world import World


@dataclass(frozen=True)
class Visit:
    """One request. `data` makes it a POST; `headers` go with it."""

    path: str
    data: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)


Fill = Callable[[World], Iterable[Visit]]
CASES: dict[str, Fill] = {}

Argument = Callable[[World], Any]


def case(
    address: str,
    /,
    *queries: str,
    post: Callable[[World], dict[str, Any]] | None = None,
    **arguments: Argument,
) -> None:
    """The address of this name: bare, with the queries, and as POST with `post`.

    Arguments are functions of the world that give one value or a list of them. The first says
    whose data it is (a study, a run): every one of them is visited with each value of each other
    argument and with each query, though not with every combination of these.
    """

    def fill(world: World) -> Iterable[Visit]:
        filled = list(_coverings({key: value(world) for key, value in arguments.items()}))
        for whole in filled:
            path = reverse(address, kwargs=whole)
            yield Visit(path)
            if post:
                yield Visit(path, data=post(world))
        for whole, query in _with_queries(filled, queries):
            yield Visit(f"{reverse(address, kwargs=whole)}?{query}")

    CASES[address] = fill


def _coverings(arguments: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """Each value of the first argument with each value of every other, in as few as it takes."""
    lists = {name: v if isinstance(v, list) else [v] for name, v in arguments.items()}
    if not all(lists.values()):
        return
    first, *others = lists or {"": [None]}
    rows = max((len(lists[name]) for name in others), default=1)
    for shift, value in enumerate(lists.get(first, [None])):
        for row in range(rows):
            rest = {name: lists[name][(row + shift) % len(lists[name])] for name in others}
            yield {first: value, **rest} if first else rest


def _with_queries(
    filled: list[dict[str, Any]], queries: tuple[str, ...]
) -> Iterable[tuple[dict[str, Any], str]]:
    """Each value of the first argument with each query, going round the other arguments."""
    by_first: dict[Any, list[dict[str, Any]]] = {}
    for whole in filled:
        by_first.setdefault(next(iter(whole.values()), None), []).append(whole)
    for group in by_first.values():
        yield from zip(cycle(group), queries, strict=False)


def _paths(name: str, *paths: str) -> None:
    CASES[name] = lambda _world: [Visit(path) for path in paths]


def RUNS(world: World) -> list[uuid.UUID]:
    return [world.run.pk, world.disputed.pk, world.rerun.pk]


def GROUPS() -> list[int]:
    """Their numbers change where a test has emptied the database."""
    return list(Group.objects.order_by("pk").values_list("pk", flat=True))[::2]


def STUDIES(world: World) -> list[int]:
    return [world.study.pk, world.other_study.pk, world.dispute.item.study_id]


def OWN_STUDIES(world: World) -> list[int]:
    return [*STUDIES(world), *(item.study_id for item in world.settled)]


def DISPUTES(world: World) -> list[int]:
    return [world.dispute.pk, world.other_dispute.pk]


def STEPS(_world: World) -> list[int]:
    return [0, 1]


def TASKS(world: World) -> list[int]:
    return [run.task_id for run in (world.run, world.disputed, world.rerun)]


def TASK_SETS(world: World) -> list[int]:
    return [world.run.task.task_set_id]


def POLICIES(_world: World) -> list[int]:
    return list(RetryPolicy.objects.order_by("pk").values_list("pk", flat=True))


# Accounts
case("login")
case("logout", post=lambda _: {})
case("password_change")
case("password_change_done")
case("set_language", post=lambda _: {"language": "ja"})

# Audit log
case("runs:audit_log", "did=label.submitted", "who=annotator", "about=run", "before=1000000")
case("runs:audit_log_file", ending=lambda _: ["csv", "jsonl"])

# The administration pages, for those who reach them
for bare in (
    "index",
    "login",
    "logout",
    "password_change",
    "password_change_done",
    "jsi18n",
    "auth_group_changelist",
    "auth_group_add",
    "runs_user_changelist",
    "runs_user_add",
):
    case(f"admin:{bare}")
for page in ("history", "delete", "change"):
    case(f"admin:auth_group_{page}", object_id=lambda _: GROUPS())
    case(f"admin:runs_user_{page}", object_id=lambda w: [w.others[0].pk, w.annotator.pk])
case("admin:auth_user_password_change", id=lambda w: w.others[0].pk)
case("admin:app_list", app_label=lambda _: ["auth", "runs"])
CASES["admin/auth/group/<path:object_id>/"] = lambda _: [
    Visit(f"/admin/auth/group/{group}/") for group in GROUPS()[:1]
]
_paths("admin/runs/user/<path:object_id>/", "/admin/runs/user/1/")
_paths("admin/(?P<url>.*)$", "/admin/judging/label/", "/admin/runs/run/", "/admin/judging/")

# Home, studies, labels
case("judging:home")
case("judging:palette", "q=demo", "q=a", "q=agent", "q=success", "q=%00")
case("judging:demo_load", post=lambda _: {})
case("judging:study_list", "sort=name", "sort=-created", "q=x", "state=closed", "part=annotator")
case("judging:study_menu", "menu=state", "menu=part&state=open")
case("judging:study_preview", study_id=OWN_STUDIES)
case(
    "judging:study_create",
    "outcome=success",
    "agent=zq-agent",
    "reference=failure",
    "anomaly=false_completion",
    "protocol=online_mind2web",
    post=lambda _: {
        "name": "x",
        "query": "model=another+model",
        "seed": 1,
        "labels_per_run": 2,
        "repeat_percent": 0,
        "guidelines": "x",
    },
)
STATES = [f"status={status}" for status in StudyItem.Status.values]
case("judging:study_detail", "page=1", "runs=1", *STATES, study_id=OWN_STUDIES)
case("judging:study_close", post=lambda _: {}, study_id=STUDIES)
case("judging:guidelines", post=lambda _: {"text": "New"}, study_id=STUDIES)
case(
    "judging:member_add",
    post=lambda w: {"user": w.stranger.pk, "part": "annotator"},
    study_id=STUDIES,
)
case(
    "judging:member_remove",
    post=lambda _: {},
    study_id=STUDIES,
    user_id=lambda w: [w.others[0].pk, w.annotator.pk],
)
case(
    "judging:annotate",
    study_id=OWN_STUDIES,
    post=lambda w: {"assignment": held_by_others(w), "key": "k", "success": "success"},
)
case("judging:annotate_run", study_id=STUDIES, run_id=RUNS)
case("judging:label_examples", study_id=STUDIES, run_id=RUNS)
case("judging:draft_save", study_id=STUDIES, post=lambda w: {"assignment": held_by_others(w)})
case("judging:change_cancel", study_id=STUDIES, post=lambda w: {"assignment": held_by_others(w)})
case(
    "judging:label_skip",
    study_id=STUDIES,
    post=lambda w: {"assignment": held_by_others(w), "reason": "x"},
)
case("judging:label_undo", study_id=STUDIES, post=lambda w: {"label": others_label(w)})
case(
    "judging:step_comment",
    study_id=STUDIES,
    post=lambda w: {"assignment": held_by_others(w), "step_index": 0, "text": "x"},
)

# Disputes
case("judging:dispute_list", "study=1", "q=goal&state=decided")
case("judging:dispute_menu", "menu=study")
case("judging:overruled")
case("judging:dispute_detail", dispute_id=DISPUTES)
case("judging:dispute_message", dispute_id=DISPUTES, post=lambda _: {"text": ""})
case("judging:dispute_decide", dispute_id=DISPUTES, post=lambda _: {"verdict": ""})

# Audits
CELLS = ["fn", "fp", "tp", "tn", "none", "tp-fn"]
case("judging:audit_home")
case("judging:audit", study_id=STUDIES)
case("judging:audit_newest")
case("judging:audit_pictures", study_id=STUDIES)
case("judging:audit_agreement", study_id=STUDIES)
case("judging:audit_repairs", study_id=STUDIES)
case("judging:audit_figures", study_id=STUDIES)
case(
    "judging:audit_triangle",
    "differ=any",
    "differ=people",
    "sort=reference",
    "site=shop",
    "kind=string_match",
    study_id=STUDIES,
)
case("judging:audit_triangle_file", study_id=STUDIES, ending=lambda _: ["csv", "json"])
case("judging:audit_compare", "evaluator=", "evaluator=1&off=hedging", study_id=STUDIES)
case("judging:audit_compare_file", study_id=STUDIES, ending=lambda _: ["csv", "json"])
case("judging:audit_beside", "with=1", "with=2&by=seed", study_id=STUDIES)
case(
    "judging:audit_beside_file",
    "with=1",
    "with=2",
    study_id=STUDIES,
    name=lambda _: list(TWO_STUDIES.entries),
    ending=lambda _: ["csv", "json"],
)
case("judging:audit_pairs", study_id=STUDIES)
case("judging:audit_people", study_id=STUDIES)
case(
    "judging:audit_left_out",
    study_id=STUDIES,
    group=lambda _: ["infeasible", "not_executable", "unsettled"],
)
case(
    "judging:audit_table",
    study_id=STUDIES,
    name=lambda _: list(AUDIT.entries),
    ending=lambda _: ["csv", "json", "md", "tex"],
)
case("judging:study_downloads", study_id=STUDIES, post=lambda _: {"kind": "report", "names": "on"})
case("judging:study_download_file", study_id=STUDIES, download_id=lambda _: uuid.UUID(int=7))
case(
    "judging:study_download_cancel",
    study_id=STUDIES,
    download_id=lambda _: uuid.UUID(int=7),
    post=lambda _: {},
)


def _label_files(world: World) -> Iterable[Visit]:
    """The form, and files that guess at what is hidden; what is asked of them is told at once."""
    path = reverse("judging:label_import_list")
    yield Visit(path)
    for study_id in STUDIES(world):
        yield Visit(f"{path}?study={study_id}")
    for name, content in (("a.csv", b"run_id,verdict\n1,success\n"), ("b.xlsx", b"PK\x03\x04")):
        sent = SimpleUploadedFile(name, content)
        yield Visit(path, data={"study": world.study.name, "file": sent})


CASES["judging:label_import_list"] = _label_files
case("judging:label_import_detail", import_id=lambda _: uuid.UUID(int=8))
case("judging:label_import_decide", import_id=lambda _: uuid.UUID(int=8), post=lambda _: {})
case(
    "judging:study_data",
    study_id=STUDIES,
    name=lambda _: list(DATA_TABLES),
    ending=lambda _: list(DATA_FORMATS),
)
case("judging:audit_report", study_id=STUDIES, ending=lambda _: ["json", "md", "tex"])
case("judging:audit_picture", study_id=STUDIES, name=lambda _: ["fn_share", "fnr", "fpr"])
case(
    "judging:audit_cells",
    study_id=STUDIES,
    evaluator_id=lambda w: w.evaluator.pk,
    cells=lambda _: CELLS,
)
case(
    "judging:audit_cells_file",
    study_id=STUDIES,
    evaluator_id=lambda w: w.evaluator.pk,
    cells=lambda _: CELLS,
    ending=lambda _: ["csv", "json"],
)
case("judging:failure_review", run_id=RUNS, post=lambda _: {"action": "confirm"})
case(
    "judging:failure_cause",
    "sample=1",
    run_id=RUNS,
    post=lambda _: {"cause": "vision", "action": "save"},
)
case(
    "judging:failure_reviews",
    post=lambda w: {"run": [str(w.run.pk), str(w.rerun.pk)], "action": "say", "back": "/"},
)
case("judging:audit_failures", "by=people", "by=judge", study_id=STUDIES)
case(
    "judging:audit_failure_runs",
    "mode=max_steps&by=mechanical",
    "mode=environment&by=known",
    "mode=unknown",
    "agent=1",
    study_id=STUDIES,
)
case("judging:audit_causes", study_id=STUDIES)
case("judging:audit_causes_picture", study_id=STUDIES, evaluator_id=lambda w: w.evaluator.pk)
case(
    "judging:cause_tag",
    "cell=fn&study=1&audit=1",
    study_id=STUDIES,
    evaluator_id=lambda w: w.evaluator.pk,
    run_id=RUNS,
    post=lambda _: {"causes": "url_form", "repair": "task_data", "action": "next"},
)
case(
    "judging:cause_tag_selected",
    study_id=STUDIES,
    evaluator_id=lambda w: w.evaluator.pk,
    cells=lambda _: CELLS,
    post=lambda _: {"item": [1, 2], "causes": "url_form", "repair": "task_data"},
)
case(
    "judging:cause_undo",
    study_id=STUDIES,
    evaluator_id=lambda w: w.evaluator.pk,
    cells=lambda _: CELLS,
    post=lambda _: {"batch": str(uuid.UUID(int=1))},
)

case("judging:milestone_proposals", task_id=TASKS)
case("judging:milestone_proposals_start", post=lambda _: {"model": "x"}, task_id=TASKS)
case("judging:milestone_proposals_cancel", post=lambda _: {}, task_id=TASKS)
case(
    "judging:milestone_proposals_decide",
    post=lambda _: {"do": "accept", "proposal-0-chosen": "on"},
    task_id=TASKS,
)
case(
    "judging:audit_progress",
    "evaluator=1&tolerance=20&wage=30",
    "task=1&milestone=x&cell=both",
    study_id=STUDIES,
)
case(
    "judging:audit_progress_table",
    study_id=STUDIES,
    name=lambda _: ["milestones", "runs"],
    ending=lambda _: "json",
)
case(
    "judging:audit_detectors",
    "kind=loop&detector=any&cell=marked-seen",
    "kind=false_completion&detector=zq-detector&cell=marked-seen",
    study_id=STUDIES,
)

# Experiments
SOURCES = ["verdict=reward", "verdict=reference", "verdict=evaluator:1"]


def EXPERIMENTS(world: World) -> list[int]:
    runs = (world.run, world.disputed)
    return [run.experiment_id for run in runs if run.experiment_id is not None]


case("judging:experiment_detail", *SOURCES, experiment_id=EXPERIMENTS)
case("judging:experiment_freshness", "done=0&at=1", experiment_id=EXPERIMENTS)
case(
    "judging:experiment_part",
    *SOURCES,
    "verdict=reward&selector=evaluator:1",
    "pair=trial",
    experiment_id=EXPERIMENTS,
    name=lambda _: list(SECTIONS),
)
case(
    "judging:experiment_runs",
    *SOURCES,
    "standing=error-incomplete-success-failure",
    "detections=1%2B",
    "recovered=yes",
    "end=cost_limit",
    "mode=false_completion",
    "site=shop",
    "kind=string_match",
    "level=",
    "progress=ticks:told&milestones=1%2B",
    experiment_id=EXPERIMENTS,
)
case(
    "judging:experiment_runs_file",
    *SOURCES,
    experiment_id=EXPERIMENTS,
    ending=lambda _: ["csv", "json"],
)
case(
    "judging:experiment_table",
    *SOURCES,
    experiment_id=EXPERIMENTS,
    name=lambda _: list(EXPERIMENT.entries),
    ending=lambda _: ["csv", "json"],
)
case(
    "judging:experiment_data",
    experiment_id=EXPERIMENTS,
    name=lambda _: [name for name, table in DATA_TABLES.items() if not table.of_study],
    ending=lambda _: list(DATA_FORMATS),
)
case(
    "judging:experiment_report",
    *SOURCES,
    experiment_id=EXPERIMENTS,
    ending=lambda _: ["json", "md", "tex"],
)
case(
    "judging:experiment_picture",
    *SOURCES,
    *(f"agent={number}" for number in range(1, 5)),
    experiment_id=EXPERIMENTS,
    name=lambda _: list(QUESTIONS),
)
case(
    "judging:experiment_progress_rates",
    "verdict=reference",
    "progress=ticks&verdict=reference&split=level&alpha=0.5",
    experiment_id=EXPERIMENTS,
)
case(
    "judging:experiment_progress_table",
    "progress=ticks&verdict=reference",
    experiment_id=EXPERIMENTS,
    name=lambda _: ["configurations", "runs"],
    ending=lambda _: "json",
)
case(
    "judging:failure_causes", experiment_id=EXPERIMENTS, post=lambda _: {"agent": "1", "size": "5"}
)
case("judging:hint_report", *SOURCES, experiment_id=EXPERIMENTS)
case(
    "judging:hint_cell",
    *SOURCES,
    experiment_id=EXPERIMENTS,
    level=lambda _: "concrete",
    relatedness=lambda _: "same_task",
)
case(
    "judging:hint_table",
    *SOURCES,
    experiment_id=EXPERIMENTS,
    name=lambda _: list(HINTS.entries),
    ending=lambda _: "json",
)
case("judging:hint_picture", *SOURCES, experiment_id=EXPERIMENTS, name=lambda _: list(MAPS))
CASES["judging:hint_write"] = lambda world: [
    Visit(reverse("judging:hint_write")),
    *(
        Visit(
            reverse("judging:hint_write"),
            data={"verdict": source, "levels": ["concrete"], "model": "m", "estimate": "1"} | more,
        )
        for source in ("reward", "reference", "evaluator:1")
        for more in (
            {},
            *({"experiment": str(number)} for number in EXPERIMENTS(world)),
            {"agent": "oracle"},
        )
    ),
]
case("judging:controls_launch", post=lambda _: {"token": "x"}, experiment_id=EXPERIMENTS)
case("judging:experiment_compare", "a=1&b=2", "a=2&b=1&verdict=reference&cell=both", "a=1&b=1")
case(
    "judging:experiment_compare_file",
    "a=1&b=2",
    "a=2&b=2&verdict=evaluator:1",
    ending=lambda _: ["csv", "json"],
)


# Evaluation batches
def _wishes(world: World, path: str) -> Iterable[Visit]:
    """The form as it is asked for, for an estimate, and sent."""
    runs = {"run": [str(pk) for pk in RUNS(world)]}
    wish = {"evaluators": ["imported-reward", "webarena-strict"], "again": "all", **runs}
    yield Visit(path, data=runs)
    for word in ("estimate", "start"):
        yield Visit(path, data={**wish, word: "1"})


def _study_wishes(world: World) -> Iterable[Visit]:
    for study_id in STUDIES(world):
        path = reverse("judging:audit_evaluate", args=[study_id])
        yield Visit(path)
        yield from _wishes(world, path)


CASES["judging:audit_evaluate"] = _study_wishes
CASES["judging:runs_evaluate"] = lambda w: _wishes(w, reverse("judging:runs_evaluate"))
case("judging:batch_list", "page=1", "study=1", "study=2", "study=x")
case("judging:batch_detail", batch_id=lambda w: [batch.pk for batch in w.batches])
case("judging:batch_cancel", batch_id=lambda w: [b.pk for b in w.batches], post=lambda _: {})
case("judging:batch_resume", batch_id=lambda w: [b.pk for b in w.batches], post=lambda _: {})


def _switches(world: World) -> Iterable[Visit]:
    for study in STUDIES(world):
        path = reverse("judging:what_if", args=[study])
        for query in ("", "?evaluator=1&off=hedging", "?sent=1&evaluator=1&on=hedging"):
            yield Visit(path + query)
            yield Visit(path + query, headers={"HX-Request": "true"})


CASES["judging:what_if"] = _switches
case("judging:what_if_rules", "off=hedging", study_id=STUDIES)
case("judging:what_if_save", study_id=STUDIES, post=lambda _: {"max_cost": "1"})


def _judgements(world: World) -> Iterable[Visit]:
    for run_id in RUNS(world):
        path = reverse("judging:run_judgements", args=[run_id])
        yield Visit(path)
        for cell in ("fn", "none", "tp-fn"):
            query = f"study={world.other_study.pk}&audit={world.evaluator.pk}&cell={cell}"
            yield Visit(f"{path}?{query}")
            yield Visit(f"{path}?{query}&triangle=cell%3D{world.evaluator.pk}_{cell}")
            current = f"http://testserver/runs/{run_id}/?{query}"
            yield Visit(path, headers={"HX-Request": "true", "HX-Current-URL": current})


CASES["judging:run_judgements"] = _judgements

# Runs
SORTS = ["goal", "n_steps", "seconds", "cost", "created"]
NO_SORTS = ["agent", "-outcome", "reference", "has_anomaly", "tokens"]
"""What the list must not be ordered by, however somebody asks for it."""
RUN_FILTERS = (
    *(f"outcome={word}" for word in ("success", "failure", "incomplete", "error")),
    *(f"reference={word}" for word in ("success", "failure", "")),
    *("agent=zq-agent", "model=zq-model", "experiment=zq-experiment"),
    *("agent=another+agent", "model=another+model", "experiment=another+experiment"),
    *("anomaly=false_completion", "anomaly=none", "anomaly=loop"),
    *("superseded=true", "q=run", "q=zq"),
    *("status=finished", "status=failed", "task=task+of+the+run"),
)
case("runs:run_list", *(f"sort={name}" for name in SORTS + NO_SORTS), *RUN_FILTERS)
for page in ("run_count", "run_matching"):
    case(f"runs:{page}", *RUN_FILTERS, "judgeable=1", "judgeable=1&outcome=success")
RUN_MENUS: tuple[str, ...] = (
    *("outcome", "reference", "anomaly", "status", "agent", "model", "experiment"),
    *("site", "task_set", "trajectory"),
)
case(
    "runs:run_facets",
    *(f"menu={name}" for name in RUN_MENUS),
    *(f"menu={name}&judgeable=1&outcome=success" for name in RUN_MENUS),
    *(f"menu={name}&{asked}" for name, asked in zip(cycle(RUN_MENUS[:7]), RUN_FILTERS)),
    *(f"menu={name}&{asked}" for name, asked in zip(cycle(RUN_MENUS[:6]), RUN_FILTERS[::-1])),
)
TASK_MENUS = ("task_set", "site", "kind", "template", "patched", "infeasible")
case("runs:task_menu", *(f"menu={name}" for name in TASK_MENUS))
case("runs:prefetch_rules")
case("runs:task_preview", task_id=TASKS)
case("runs:view_save", post=lambda _: {"name": "New", "query": "outcome=failure"})
case("runs:view_delete", pk=lambda _: 1, post=lambda _: {})
case("runs:view_default", pk=lambda _: 1, post=lambda _: {})
case("runs:run_preview", run_id=RUNS)
case("runs:list_columns", post=lambda _: {"column": ["outcome", "reward", "agent", "model"]})
case("runs:run_detail", run_id=RUNS)
case("runs:run_live", "seen=0-0", "seen=1-0", run_id=RUNS)
case("runs:run_steps", "from=0", "from=1", run_id=RUNS)
case("runs:run_step", run_id=RUNS, index=STEPS)
case("runs:run_calls", run_id=RUNS, index=STEPS)
case("runs:run_screen", run_id=RUNS, index=STEPS)
case("runs:run_compare_choices", run_id=RUNS)
CASES["runs:run_compare"] = lambda world: [
    Visit(f"{reverse('runs:run_compare')}?a={a}&b={b}{steps}")
    for a, b, steps in product(RUNS(world), RUNS(world), ("", "&steps=all"))
    if a != b or not steps
]
case("runs:run_files", run_id=RUNS)
case("runs:run_blob", run_id=RUNS, sha256=lambda w: [w.picture.pk, w.log.pk])
case("runs:run_export", "format=atif", run_id=RUNS)
CASES["runs:run_export_selected"] = lambda world: [
    Visit(reverse("runs:run_export_selected"), data={"run": [str(pk) for pk in RUNS(world)]} | how)
    for how in ({}, {"format": "atif"})
]
case("runs:run_rerun", post=lambda _: {"trials": 1}, run_id=RUNS)
case("runs:run_rerun_selected", post=lambda w: {"run": [str(pk) for pk in RUNS(w)]})
case("runs:run_cancel", post=lambda _: {}, run_id=RUNS)
case("runs:run_retry", post=lambda _: {}, run_id=RUNS)
case("runs:policy_list")
case("runs:policy_new", post=lambda _: {"name": "x"})
case("runs:policy_preview", post=lambda _: {"name": "x"})
case("runs:policy_detail", pk=POLICIES)
case("runs:policy_edit", post=lambda _: {"name": "x"}, pk=POLICIES)


def DRY_RUNS(world: World) -> Iterable[Visit]:
    """Every ready policy that has rules, over each study, each experiment, and named runs."""
    path = reverse("runs:policy_reruns")
    yield Visit(path)
    named = [str(pk) for pk in RUNS(world)]
    sources = [f"study:{pk}" for pk in STUDIES(world)]
    sources += [f"experiment:{pk}" for pk in EXPERIMENTS(world)]
    policies = POLICIES(world)
    for source, policy in zip(sources, cycle(policies), strict=False):
        yield Visit(f"{path}?policy={policy}&source={source}")
    for policy in policies:
        asked = {"policy": policy, "run": named}
        yield Visit(path, data=asked)
        yield Visit(path, data={**asked, "launch": 1, "token": str(uuid.UUID(int=5))})


CASES["runs:policy_reruns"] = DRY_RUNS
case("runs:rerun_list", "page=1")
case("runs:live_wall")
case("runs:rerun_cancel_own", post=lambda _: {})
case("runs:space")
case("runs:space_measure", post=lambda _: {})
case("runs:retention", experiment_id=EXPERIMENTS)
case("runs:retention_limits", experiment_id=EXPERIMENTS, post=lambda _: {"max_runs": "3"})
case("runs:retention_archive", experiment_id=EXPERIMENTS, post=lambda _: {})
case("runs:retention_restore", experiment_id=EXPERIMENTS, post=lambda _: {})
case(
    "runs:retention_delete",
    experiment_id=EXPERIMENTS,
    post=lambda _: {"reason": "a test", "name": "another"},
)
case("runs:infrastructure")
case("runs:infrastructure_sites")
case(
    "runs:task_list",
    "sort=shown_kind",
    "sort=external_id",
    *[f"kind={word}" for word in ("string_match", "url_match", "program_html")],
    *[f"patched={word}" for word in ("yes", "no", "reference", "infeasible")],
    "infeasible=yes",
    "infeasible=no",
    "q=task",
    "q=zq",
    "template=1",
)
case("runs:task_detail", "page=1", task_id=TASKS)
case("runs:task_set_detail", "page=1", set_id=TASK_SETS)
case(
    "runs:task_milestones",
    task_id=TASKS,
    post=lambda _: {"m-TOTAL_FORMS": 1, "m-INITIAL_FORMS": 0, "add": 1},
)
case("runs:task_milestones_import", task_id=TASKS, post=lambda _: {})
case("runs:task_milestones_file", task_id=TASKS)
case("runs:set_milestones", set_id=TASK_SETS, post=lambda _: {})
case("runs:set_milestones_file", set_id=TASK_SETS)
case("runs:job_drawer")
case("runs:job_count")
case("runs:experiment_list", "page=1")
_LAUNCH = {
    "name": "Another one",
    "task_set": "webarena raw",
    "agents": ["oracle"],
    "trials": 2,
    "token": "0b0e1f0a-4f6c-4a5e-9d55-5c1f5f0a7f11",
}
CASES["runs:experiment_new"] = lambda _world: [
    Visit(reverse("runs:experiment_new")),
    Visit(f"{reverse('runs:experiment_new')}?task_set=webarena+raw"),
    *(
        Visit(reverse("runs:experiment_new"), data=_LAUNCH | more)
        for more in (
            {"refresh": "1"},
            {"estimate": "1"},
            {"estimate": "1", "kinds": ["string_match"]},
            {"estimate": "1", "feasible_only": "on"},
            {"launch": "1"},
        )
    ),
]
CASES["runs:hint_experiment_new"] = lambda world: [
    Visit(reverse("runs:hint_experiment_new")),
    Visit(f"{reverse('runs:hint_experiment_new')}?task_set=webarena+raw"),
    *(
        Visit(
            reverse("runs:hint_experiment_new"),
            data=_LAUNCH
            | {"job": str(world.hints[0].job_id), "levels": ["concrete"], "agents": ""}
            | {"relatednesses": ["same_task"], "more_agents": 'generic:{"model": "m"}'}
            | {way: "1"},
        )
        for way in ("estimate", "refresh")
    ),
]
case("runs:hint_list")
case("runs:hint_job", job_id=lambda world: world.hints[0].job_id)
case("runs:hint_job_cancel", post=lambda _: {}, job_id=lambda world: world.hints[0].job_id)
case("runs:hint_job_resume", post=lambda _: {}, job_id=lambda world: world.hints[0].job_id)
case("runs:hint_detail", hint_id=lambda world: [hint.pk for hint in world.hints])
case("runs:experiment_progress", pk=EXPERIMENTS)
case("runs:experiment_pause", post=lambda _: {}, pk=EXPERIMENTS)
case("runs:experiment_resume", post=lambda _: {}, pk=EXPERIMENTS)
case("runs:experiment_cancel", post=lambda _: {}, pk=EXPERIMENTS)
case("runs:import_list")
case("runs:import_detail", job_id=lambda w: w.job.pk)
case("runs:import_read_again", post=lambda _: {}, job_id=lambda w: w.job.pk)
case("runs:import_forget", post=lambda _: {}, job_id=lambda w: w.job.pk)
case("runs:import_decide", post=lambda _: {}, job_id=lambda w: w.job.pk)


def held_by_others(world: World) -> int:
    """An assignment that is not the viewer's."""
    return world.others[0].assignments.values_list("pk", flat=True)[0]


def others_label(world: World) -> str:
    """A label that is not the viewer's."""
    return str(world.others[0].labels.values_list("pk", flat=True)[0])


# Web knowledge, and the jobs that write it
ENTRY = {"intent": "Open it", "ok": "", "ng": "It stays shut."}


def KNOWLEDGE(world: World) -> list[int]:
    return [each.pk for each in world.knowledge]


def ENTRIES(world: World) -> list[int]:
    return [entry.pk for each in world.knowledge for entry in each.entries.all()]


CASES["runs:knowledge_list"] = lambda world: [
    Visit(reverse("runs:knowledge_list") + query)
    for query in (
        "",
        "?site=shopping",
        *(f"?run={run_id}" for run_id in RUNS(world)),
        *(f"?experiment={number}" for number in EXPERIMENTS(world)),
    )
]
CASES["runs:knowledge_detail"] = lambda world: [
    Visit(reverse("runs:knowledge_detail", args=[number]) + query)
    for number in KNOWLEDGE(world)
    for query in ("", "?q=knowledge", "?q=zq", *(f"?run={run_id}" for run_id in RUNS(world)))
]
case("runs:knowledge_entry", pk=ENTRIES, post=lambda _: ENTRY)
case("runs:knowledge_switch", pk=ENTRIES, post=lambda _: {"off": ""})
CASES["runs:knowledge_extract"] = lambda world: [
    Visit(reverse("runs:knowledge_extract")),
    *(Visit(f"{reverse('runs:knowledge_extract')}?run={run_id}") for run_id in RUNS(world)),
    *(
        Visit(
            reverse("runs:knowledge_extract"),
            data={"run": str(run_id), "source": "selection", "name": "x", "estimate": "1"},
        )
        for run_id in RUNS(world)
    ),
]
case("runs:knowledge_summarise", pk=KNOWLEDGE, post=lambda _: {"start": "1"})


def LEARNING(world: World) -> list[uuid.UUID]:
    return [each.job_id for each in world.knowledge[:1] if each.job_id]


case("runs:learning_job", job_id=LEARNING)
case("runs:learning_cancel", job_id=LEARNING, post=lambda _: {})
case("runs:learning_resume", job_id=LEARNING, post=lambda _: {"max_cost": "1"})

# Tokens of the API, and the page that describes it
case("runs:token_list", post=lambda _: {"name": "x", "scopes": "nothing", "days": "7"})
case("runs:token_revoke", pk=lambda _: 1, post=lambda _: {})
case("judging:api_reference")


# Replications
def REPLICATIONS(_world: World) -> list[int]:
    return list(Replication.objects.order_by("pk").values_list("pk", flat=True))


REPLICATION_REPORTS = ["accuracy", "verdicts", "plan", "deviations", "versions"]

case(
    "judging:replication_list",
    "page=2",
    post=lambda _: {"file": SimpleUploadedFile("study.toml", b"format = 1")},
)
case("judging:replication_detail", replication_id=REPLICATIONS)
case("judging:replication_progress", replication_id=REPLICATIONS)
case("judging:replication_run", post=lambda _: {}, replication_id=REPLICATIONS)
case("judging:replication_part", replication_id=REPLICATIONS, name=lambda _: REPLICATION_REPORTS)
case(
    "judging:replication_table",
    replication_id=REPLICATIONS,
    name=lambda _: REPLICATION_REPORTS,
    ending=lambda _: ["json", "csv", "md", "tex"],
)
case(
    "judging:replication_report",
    replication_id=REPLICATIONS,
    ending=lambda _: ["json", "md", "tex"],
)
case("judging:replication_file", replication_id=REPLICATIONS)

# The API itself: a session opens nothing of it. What tokens open is compared in
# tests/judging/api/test_blinding.py.
API: dict[str, dict[str, Argument]] = {
    "run_id": {"run_id": RUNS},
    "task_id": {"task_id": TASKS},
    "study_id": {"study_id": STUDIES},
    "experiment_id": {"experiment_id": EXPERIMENTS},
    "batch_id": {"batch_id": lambda world: [batch.pk for batch in world.batches]},
    "launch_id": {"launch_id": lambda world: world.run.pk},
    "job_id": {"job_id": lambda world: world.job.pk},
    "hint_job_id": {"hint_job_id": lambda world: world.hints[0].job_id},
    "replication_id": {"replication_id": REPLICATIONS},
}
"""What fills the addresses, by the name of their first argument."""
MORE_API: dict[str, dict[str, Argument]] = {
    "read_blob": {"sha256": lambda world: [world.picture.pk, world.log.pk]},
    "push_step": {"index": STEPS},
    "read_beside_table": {"other_id": STUDIES, "name": lambda _: ["matrices", "tasks"]},
    "read_audit_table": {"name": lambda _: ["matrices", "triangle"]},
    "read_experiment_table": {"name": lambda _: "runs"},
    "read_replication_table": {"name": lambda _: REPLICATION_REPORTS},
}
for pattern in api_addresses:
    named = str(pattern.pattern)
    filled = next((given for name, given in API.items() if f":{name}>" in named), None)
    filled = filled or next((given for name, given in API.items() if f"<{name}>" in named), {})
    case(f"api:{pattern.name}", **filled, **MORE_API.get(str(pattern.name), {}))
