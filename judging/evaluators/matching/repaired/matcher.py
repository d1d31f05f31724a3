"""`webarena-repaired`: the published evaluator with named repairs, each with a switch."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from judging.evaluators.matching import specification as spec
from judging.evaluators.matching.outcome import (
    Check,
    CheckVerdict,
    EvaluatorIdentity,
    JudgeCall,
    JudgeKind,
    MatchEvaluation,
    MatchOutcome,
    MatchTask,
    settle,
)
from judging.evaluators.matching.repaired.answers import (
    extra_items,
    is_plain_not_achievable,
    published_verdict,
    says,
)
from judging.evaluators.matching.repaired.mentions import is_checkable
from judging.evaluators.matching.repaired.pages import content_passes, url_passes
from judging.evaluators.matching.repaired.rules import ALL_RULES, Rule, Rules, decisive_rules
from judging.evaluators.matching.repaired.texts import LONGEST_ANSWER, Answer, Question, fold, lower
from judging.evaluators.matching.strict import StrictMatcher

Judgement = Callable[[Rules], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedMatcher:
    """`webarena-repaired`: strict, but for the rules that are on.

    With `rules` empty it gives the strict verdict on everything. What the published evaluator
    has no verdict on (what raises) has none here either.
    """

    name: ClassVar[str] = "webarena-repaired"
    version: ClassVar[str] = "3"

    rules: frozenset[Rule] = ALL_RULES
    missing_answer: str = ""

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> RepairedMatcher:
        """The matcher so configured: {"off": [rule, ...], "missing_answer": text}.

        Raises:
            ValueError: a key, a value or a rule is unknown.
        """
        if unknown := set(config) - {"off", "missing_answer"}:
            raise ValueError(f"{cls.name} has no setting {', '.join(sorted(unknown))}")
        off = {spec.text(name, "a rule") for name in spec.array(config.get("off", []), "off")}
        if unknown := off - {rule.value for rule in Rule}:
            raise ValueError(f"{cls.name} has no rule {', '.join(sorted(unknown))}")
        return cls(
            rules=ALL_RULES - {Rule(name) for name in off},
            missing_answer=spec.text(config.get("missing_answer", ""), "missing_answer"),
        )

    @property
    def identity(self) -> EvaluatorIdentity:
        off = sorted(rule.value for rule in ALL_RULES - self.rules)
        return EvaluatorIdentity(
            name=self.name,
            kind="matcher",
            version=self.version,
            config={"off": off, "missing_answer": self.missing_answer},
        )

    def evaluate(self, task: MatchTask, outcome: MatchOutcome) -> MatchEvaluation:
        """The strict evaluation with each check looked at again under the rules."""
        return self._evaluate(task, outcome, explains=True)[0]

    def evaluate_recording(
        self, task: MatchTask, outcome: MatchOutcome
    ) -> tuple[MatchEvaluation, frozenset[Rule]]:
        """The same evaluation without its reasons, and the rules that it asked about.

        Switching any other rule changes nothing here.
        """
        return self._evaluate(task, outcome, explains=False)

    def _evaluate(
        self, task: MatchTask, outcome: MatchOutcome, *, explains: bool
    ) -> tuple[MatchEvaluation, frozenset[Rule]]:
        published = StrictMatcher(missing_answer=self.missing_answer).evaluate(task, outcome)
        if published.error is not None and not published.checks:
            return published, frozenset()
        review = _Review(self.rules, task, outcome, self.missing_answer, explains)
        checks, calls = review.review(published)
        lacks_evidence = any(c.verdict is CheckVerdict.NO_EVIDENCE for c in published.checks)
        if published.error is not None and not lacks_evidence:
            found = replace(published, checks=tuple(checks))
        else:
            found = settle(checks, calls)
        return found, frozenset(review.consulted)


@dataclass(frozen=True, slots=True)
class _Review:
    enabled: frozenset[Rule]
    task: MatchTask
    outcome: MatchOutcome
    missing_answer: str
    explains: bool
    consulted: dict[Rule, None] = field(default_factory=dict)

    @property
    def rules(self) -> Rules:
        """The rules in force, asked about for the whole review."""
        return Rules(self.enabled, self.consulted)

    @property
    def answer(self) -> str:
        return self.missing_answer if self.outcome.answer is None else self.outcome.answer

    def _is_too_long(self, *references: str) -> bool:
        return any(len(text) > LONGEST_ANSWER for text in (self.answer, *references))

    def review(self, published: MatchEvaluation) -> tuple[list[Check], list[JudgeCall]]:
        """All checks again, and the judge calls that are still needed."""
        checks: list[Check] = []
        calls = iter(published.judge_calls)
        kept: list[JudgeCall] = []
        for check in published.checks:
            waiting = check.verdict is CheckVerdict.NEEDS_JUDGE
            call = next(calls) if waiting else None
            again = self._check(check, call)
            if call is not None and again.verdict is CheckVerdict.NEEDS_JUDGE:
                kept.append(call)
            checks.append(again)
        if any(c.name == "must_include" for c in checks) and all(
            c.verdict is CheckVerdict.PASSED for c in checks if c.name == "must_include"
        ):
            checks += self._list_check()
        return checks, kept

    def _check(self, check: Check, call: JudgeCall | None) -> Check:
        if check.verdict in (CheckVerdict.NO_EVIDENCE, CheckVerdict.IGNORED):
            return check
        if check.name == "url_match":
            return self._url_check(check)
        if check.name.startswith("program_html"):
            return self._page_check(check)
        if check.name == "fuzzy_match":
            return check if self._is_too_long(check.expected) else self._fuzzy_check(check, call)
        if self._is_too_long(check.expected):
            return replace(check, message=f"as published: longer than {LONGEST_ANSWER} characters")
        return self._answer_check(check)

    def _question(self, *, exact: bool, references: list[str]) -> Question:
        rules = self.rules
        return Question(
            intent=lower(fold(self.task.intent, rules)),
            exact=exact,
            siblings=tuple(lower(fold(reference, rules)) for reference in references),
            host_aliases=self.task.host_aliases,
        )

    def _includes(self) -> list[str]:
        references = (self.task.evaluation or {}).get("reference_answers")
        listed = references.get("must_include") if isinstance(references, Mapping) else None
        return [str(item) for item in listed] if isinstance(listed, list) else []

    def _answer_check(self, check: Check) -> Check:
        exact = check.name == "exact_match"
        siblings = [check.expected] if exact else self._includes()
        question = self._question(exact=exact, references=siblings)

        def judgement(rules: Rules) -> bool:
            parts = [check.expected]
            if spec.ALTERNATIVES in check.expected and rules.allow(Rule.ALTERNATIVES):
                parts = check.expected.split(spec.ALTERNATIVES)
            tokenise = len(siblings) == 1
            return any(
                says(
                    part,
                    self.answer,
                    published_verdict(part, self.answer, exact=exact, tokenise=tokenise),
                    question,
                    rules,
                )
                for part in parts
            )

        return self._decided(check, judgement)

    def _fuzzy_check(self, check: Check, call: JudgeCall | None) -> Check:
        if call is None:
            return check

        def judgement(rules: Rules) -> bool:
            if call.judge is JudgeKind.UNACHIEVABLE:
                return is_plain_not_achievable(self.answer, rules)
            wanted = lower(fold(check.expected, rules))
            if not is_checkable(wanted) or not rules.allow(Rule.SETTLED_WITHOUT_JUDGE):
                return False
            question = self._question(exact=False, references=[check.expected])
            return says(check.expected, self.answer, False, question, rules)

        rules = self.rules
        if not judgement(rules):
            return check
        return replace(
            check,
            verdict=CheckVerdict.PASSED,
            message="settled without a judge",
            rules=self._decisive(judgement, strict=False),
        )

    def _list_check(self) -> list[Check]:
        """A check of its own where a list holds more than was asked for; none where it does not."""
        references = self._includes()
        question = self._question(exact=False, references=references)
        rules = self.rules
        if self._is_too_long(*references) or not rules.allow(Rule.EXTRA_ITEMS):
            return []
        wanted = [
            lower(fold(part, rules))
            for each in references
            for part in each.split(spec.ALTERNATIVES)
        ]
        extra = extra_items(wanted, Answer.read(self.answer, rules), question, rules)
        if not extra:
            return []
        return [
            Check(
                name="must_include extra items",
                verdict=CheckVerdict.FAILED,
                expected=", ".join(references),
                actual=self.answer,
                normalised=", ".join(extra),
                message="the list holds items that are no references",
                rules=(Rule.EXTRA_ITEMS.value,),
            )
        ]

    def _url_check(self, check: Check) -> Check:
        page = self.outcome.final_url or ""
        aliases = self.task.host_aliases
        again = self._decided(
            check, lambda rules: url_passes(check.expected, page, aliases, rules)[0]
        )
        _, message = url_passes(check.expected, page, aliases, self.rules)
        return replace(again, message=message)

    def _page_check(self, check: Check) -> Check:
        exact = check.name.endswith("exact_match")
        content = html.unescape(check.actual)

        def judgement(rules: Rules) -> bool:
            parts = [check.expected] if exact else check.expected.split(spec.ALTERNATIVES)
            return any(
                content_passes(
                    part, content, exact=exact, aliases=self.task.host_aliases, rules=rules
                )
                for part in parts
            )

        return self._decided(check, judgement)

    def _decided(self, check: Check, judgement: Judgement) -> Check:
        """The check with the verdict under the rules, and the rules that made a difference."""
        published = check.verdict is CheckVerdict.PASSED
        passed = judgement(self.rules)
        if passed == published:
            return check
        return replace(
            check,
            verdict=CheckVerdict.PASSED if passed else CheckVerdict.FAILED,
            rules=self._decisive(judgement, strict=published),
            message="" if passed else check.message,
        )

    def _decisive(self, judgement: Judgement, *, strict: bool) -> tuple[str, ...]:
        if not self.explains:
            return ()
        found = decisive_rules(judgement, self.enabled, strict=strict)
        return tuple(rule.value for rule in found)
