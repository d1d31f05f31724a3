"""The source paper's worked examples: what the published matcher says, and what the repaired one.

Source: Zhang et al., WebArena Mod, sections 3.2 and 4.3 and appendix A.
"""

from judging.evaluators.matching.outcome import JudgeKind, MatchEvaluation, MatchOutcome, MatchTask
from judging.evaluators.matching.repaired.matcher import RepairedMatcher
from judging.evaluators.matching.repaired.pages import site_aliases
from judging.evaluators.matching.strict import StrictMatcher
from tests.judging.evaluators.matching.factories import answered, string_task

HOSTS = site_aliases({"gitlab": "http://localhost:8023"})


def both(task: MatchTask, outcome: MatchOutcome) -> tuple[MatchEvaluation, MatchEvaluation]:
    return StrictMatcher().evaluate(task, outcome), RepairedMatcher().evaluate(task, outcome)


def test_the_zip_code_in_a_sentence():
    task = string_task(
        {"exact_match": "15213"}, intent="What is the zip code of Carnegie Mellon University?"
    )
    for answer in ("The zip code is 15213.", "郵便番号は 15213 です"):
        before, after = both(task, answered(answer))
        assert (before.verdict, after.verdict) == ("failed", "passed")
        assert after.rules == ("sentence",)
    _, other = both(task, answered("The zip code is 15217."))
    assert other.verdict == "failed"


def test_task_181_says_no_without_the_word():
    intent = "Open my latest created issue that has better in its title to check if it is closed"
    task = MatchTask(
        evaluation={
            "eval_types": ["string_match", "url_match"],
            "reference_answers": {"exact_match": "No"},
            "reference_url": "http://localhost:8023/byteblaze/a11y-webring.club/-/issues/21",
        },
        intent=intent,
        host_aliases=HOSTS,
    )
    outcome = MatchOutcome(
        answer="Its status badge shows Open, so it is not closed.",
        final_url="http://localhost:8023/byteblaze/a11y-webring.club/-/issues/21",
    )
    before, after = both(task, outcome)
    assert (before.verdict, after.verdict) == ("failed", "passed")
    assert after.rules == ("sentence", "polarity")
    elsewhere = MatchOutcome(answer=outcome.answer, final_url="http://localhost:8023/other")
    assert both(task, elsewhere)[1].verdict == "failed"
    wrong = MatchOutcome(answer="Its status badge shows Closed.", final_url=outcome.final_url)
    assert both(task, wrong)[1].verdict == "failed"


def test_task_294_clones_from_this_deployment():
    references = {
        "exact_match": "git clone ssh://git@metis.lti.cs.cmu.edu:2222/convexegg/chatgpt.git"
    }
    task = MatchTask(
        evaluation={"eval_types": ["string_match"], "reference_answers": references},
        intent="Show me the command to clone ChatGPT with SSH.",
        host_aliases=HOSTS,
    )
    right = "git clone ssh://git@localhost:2222/convexegg/chatgpt.git"
    for answer in (right, f"`{right}`", f"The command is: {right}"):
        before, after = both(task, answered(answer))
        assert (before.verdict, after.verdict) == ("failed", "passed")
        assert "clone_commands" in after.rules
    for wrong in (
        right.replace("localhost", "elsewhere.example"),
        right.replace("chatgpt", "another"),
        right.removeprefix("git clone "),
        "git clone http://localhost:8023/convexegg/chatgpt.git",
    ):
        assert both(task, answered(wrong))[1].verdict == "failed"


def test_the_airport_answer_waits_for_the_judges():
    reference = "There is no airport within 5 km of Carnegie Mellon University"
    task = string_task(
        {"fuzzy_match": [reference]},
        intent=(
            "Tell me the full address of all international airports that are within a driving "
            "distance of 5 km to Carnegie Mellon University"
        ),
    )
    answer = (
        "There is no international airport in that range. "
        "The closest international airport is 25 km away."
    )
    for found in both(task, answered(answer)):
        assert found.verdict == "needs_judge"
        assert [(call.judge, call.reference) for call in found.judge_calls] == [
            (JudgeKind.FUZZY, reference)
        ]
        assert (found.score_if_all_pass, found.score_if_all_fail) == (1.0, 0.0)
