"""Studies with the source paper's figures: 23/16/36/0 before the repair, 40/1/34/0 after it.

The tasks, answers and verdicts of judges are made up in the manner of the paper's examples; the
strict and the repaired matcher judge them for real.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from judging.evaluating.evaluating import evaluate_study
from judging.evaluators.registry import evaluator_named
from judging.models import EvaluatorVersion
from runs.models import Run, Task, User
from tests.judging.analysis import audited

KIND = EvaluatorVersion.Kind
STAGES = ("equivalence", "inclusion")


@dataclass(frozen=True)
class Case:
    """A task with the answer of a run on it. `by`: what passes it after the repair, if anything:
    rule, stage 1 or stage 2.
    """

    site: str
    template: str
    goal: str
    reference: dict[str, Any]
    answer: str
    by: str = ""

    @property
    def spec(self) -> dict[str, Any]:
        return {"eval_types": ["string_match"], "reference_answers": self.reference}


FALSE_NEGATIVES = (
    Case(
        "gitlab",
        "302",
        "Tell me whether the latest issue about flash alerts is closed",
        {"exact_match": "No"},
        "Its status badge shows Open, so it is not closed.",
        "inclusion",
    ),
    Case(
        "gitlab",
        "329",
        "Show me the command to clone the chat project with SSH",
        {"must_include": ["ssh://git@metis.lti.cs.cmu.edu:2222/convexegg/super_chat.git"]},
        "git clone ssh://git@localhost:2222/convexegg/super_chat.git",
        "equivalence",
    ),
    Case(
        "map",
        "79",
        "Name all international airports within 5 km of the university",
        {"exact_match": "There is no airport within 5 km of the university"},
        "There is no international airport in that range. The closest one is 25 km away.",
        "inclusion",
    ),
    Case(
        "map",
        "35",
        "What is the zip code?",
        {"exact_match": "15213"},
        "The zip code is 15213.",
        "rule",
    ),
    *(
        Case(
            site,
            str(140 + number),
            f"{question} (question {number})",
            {"exact_match": reference},
            f"{start} {reference}{end}",
            by,
        )
        for number, (site, question, reference, start, end, by) in enumerate(
            (
                ("shopping", "Which brand is it?", "Sephora", "The brand is", ".", "rule"),
                ("shopping", "How much did I spend?", "$47.41", "You spent", " in all.", "rule"),
                ("shopping", "What size is it?", "16x24", "The size is", " inches.", "rule"),
                ("shopping", "Who wrote the review?", "Catso", "It was written by", ".", "rule"),
                ("shopping_admin", "Which status?", "Pending", "The order is", " now.", "rule"),
                ("shopping_admin", "How many?", "8", "There are", " such reviews.", "rule"),
                ("shopping_admin", "Which product?", "Impulse Duffle", "The", " leads.", "rule"),
                ("reddit", "Which forum is it?", "pittsburgh", "It is the forum", ".", "rule"),
                ("reddit", "How many votes?", "2", "It has", " upvotes.", "rule"),
                ("reddit", "Who posted it?", "ThetaGang", "The author is", ".", "rule"),
                ("gitlab", "How many commits?", "14", "There were", " commits.", "rule"),
                ("map", "How long is the walk?", "35 min", "About", " on foot.", ""),
            )
        )
    ),
)
SITES = ("shopping", "shopping_admin", "gitlab", "reddit", "map")

MakeRun = Callable[[Task, dict[str, Any]], Run]


def _plain(kind: str, count: int) -> Iterable[Case]:
    """Runs on which everybody agrees: `tp` or `tn`."""
    for number in range(count):
        right = str(100 + number)
        yield Case(
            SITES[number % len(SITES)],
            str(number % 12),
            f"How many {kind} things are there? ({number})",
            {"exact_match": right},
            right if kind == "tp" else str(300 + number),
        )


def before_study(
    make_run: MakeRun | None = None, people: tuple[User, User] | None = None
) -> audited.Audited:
    """75 runs: strict 23/16/36/0, and 15 of the 16 repaired by `after`."""
    cases = [
        *((case, "success") for case in FALSE_NEGATIVES),
        *((case, "success") for case in _plain("tp", 23)),
        *((case, "failure") for case in _plain("tn", 36)),
    ]
    # Not sorted by how they come out.
    return _study(
        "WebArena sample", [cases[number * 29 % 75] for number in range(75)], make_run, people
    )


def after_study(make_run: MakeRun | None = None) -> audited.Audited:
    """75 runs of another pass: `after` 40/1/34/0."""
    cases = [
        *((case, "success") for case in FALSE_NEGATIVES),
        *((case, "success") for case in _plain("tp", 41 - len(FALSE_NEGATIVES))),
        *((case, "failure") for case in _plain("tn", 34)),
    ]
    return _study("WebArena sample, repaired", cases, make_run, None)


def _study(
    name: str,
    cases: list[tuple[Case, str]],
    make_run: MakeRun | None,
    people: tuple[User, User] | None,
) -> audited.Audited:
    world = audited.study(name)
    first, second = people or (audited.person(f"{name} A"), audited.person(f"{name} B"))
    for number, (case, reference) in enumerate(cases):
        task = audited.task(
            f"{name} {number}",
            goal=case.goal,
            site=case.site,
            template=case.template,
            evaluation_kind="string_match",
            spec=case.spec,
        )
        fields = {"final_answer": case.answer, "goal": case.goal, "reward": None}
        run = make_run(task, fields) if make_run else audited.run(task, **fields)
        other = {"success": "failure", "failure": "success"}[reference]
        # Every eleventh run is one that the second person sees otherwise.
        labels = [(first, reference), (second, other if number % 11 == 10 else reference)]
        item = world.add(reference, labels, of=run)
        _judge(item.run, case, reference)
    for matcher in ("webarena-strict", "webarena-repaired"):
        evaluate_study(world.study, evaluator_named(matcher))
    return world


def _judge(run: Run, case: Case, reference: str) -> None:
    """A judge of two stages, and the pipelines before and after the repair."""
    judge = audited.evaluator("two-stage-judge", kind=KIND.JUDGE, config={"stages": STAGES})
    before = audited.evaluator("before", kind=KIND.PIPELINE)
    after = audited.evaluator("after", kind=KIND.PIPELINE)
    is_missed = case in FALSE_NEGATIVES
    by_matcher = reference == "success" and not is_missed
    first = by_matcher or case.by in ("rule", "equivalence")
    passed = first or case.by == "inclusion"
    stages = [_stage("equivalence", first), *([] if first else [_stage("inclusion", passed)])]
    details = {"stages": stages, "checks": []}
    words = {True: "passed", False: "failed"}
    audited.evaluation(run, judge, words[passed], details=details, cost="0.0031", seconds=1.4)
    part = {"evaluator": "webarena-strict 1", "verdict": words[by_matcher]}
    audited.evaluation(run, before, words[by_matcher], details={"parts": [part], "stages": []})
    matched = by_matcher or case.by == "rule"
    part = {"evaluator": "webarena-repaired 1", "verdict": words[matched]}
    audited.evaluation(
        run,
        after,
        words[passed],
        details={"parts": [part], "stages": [] if matched else stages},
        cost="0" if matched else "0.0031",
        seconds=0.01 if matched else 1.4,
    )


def _stage(name: str, passed: bool) -> dict[str, Any]:
    what = {"equivalence": "mean the same as", "inclusion": "hold what matters of"}[name]
    return {
        "name": name,
        "verdict": "passed" if passed else "failed",
        "rationale": f"The answer does {'' if passed else 'not '}{what} the reference.",
        "model": "stub",
        "prompt": f"two_stage/{name}",
    }
