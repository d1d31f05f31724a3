"""The published WebArena evaluator, verdict for verdict, quirks included: the *before*.

Source: web-arena-x/webarena, evaluation_harness/evaluators.py at f62e0b9, and libwebarena 0.0.5
(the same verdicts). Nothing is evaluated as code, no page is opened and no judge is called: page
targets are read from captured evidence, and calls to a judge are listed instead of made.

Is a one-character reference a token of its own? As NLTK's `word_tokenize` has it.

`word_tokenize` first cuts sentences with the trained English Punkt model, which only comes by a
download, and then tokenises each sentence; the cut decides whether the full stop after a digit is
a token of its own. Answers are lower-cased before they are tokenised, and over lower-case text
the trained model has little left to say: after a number or an initial a lower-case word starts no
sentence, unless the model saw that word open a sentence in lower case and never saw it
capitalised, which holds for four words. So these four words, and the single letters that it
takes for abbreviations, stand in for the model.

What remains different: the model's abbreviations of several letters ("dr.", "p.m.") end a sentence
here where a digit or a symbol follows. That moves the full stop itself, which only the reference
"." can tell, and the one before such an abbreviation with a symbol glued to it ("2. dr.*").
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar
from urllib.parse import parse_qs, urlparse

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
    no_verdict,
    not_applicable,
    settle,
)
from judging.evaluators.matching.specification import NOT_ACHIEVABLE

LOWER_CASE_STARTERS = frozenset({"administrators", "b-week", "r-revised", "z-holiday"})
ABBREVIATING_LETTERS = frozenset("cdefghklmnprstvw")


@cache
def _tokenizer() -> Callable[[str], list[str]]:
    # Importing NLTK takes seconds (it loads scipy.stats), and only one-character references
    # need it: nobody else should wait for it.
    from nltk.tokenize.destructive import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    sentence_initial_lower_case = 1 << 4  # nltk's flag for "begins a sentence in lower case"
    parameters = PunktParameters()
    parameters.abbrev_types = set(ABBREVIATING_LETTERS)
    for word in LOWER_CASE_STARTERS:
        parameters.add_ortho_context(word, sentence_initial_lower_case)
    sentences = PunktSentenceTokenizer(parameters)
    words = NLTKWordTokenizer()
    return lambda text: [
        token for sentence in sentences.tokenize(text) for token in words.tokenize(sentence)
    ]


def word_tokens(text: str) -> list[str]:
    """Tokens of a lower-cased text, in order."""
    return _tokenizer()(text)


def clean_answer(answer: str) -> str:
    """The answer without surrounding white space and one layer of straight quotes, lower-cased."""
    answer = answer.strip()
    if any(answer.startswith(quote) and answer.endswith(quote) for quote in "'\""):
        answer = answer[1:-1]
    return answer.lower()


def exact_match(reference: str, answer: str) -> bool:
    """Whether both are the same once cleaned."""
    return clean_answer(answer) == clean_answer(reference)


def must_include(reference: str, answer: str, *, tokenise: bool = False) -> bool:
    """Whether the cleaned answer holds the cleaned reference.

    With `tokenise`, a reference of one character must be a token of its own, so that "0" is not
    found in "10".
    """
    reference, answer = clean_answer(reference), clean_answer(answer)
    if reference not in answer:
        return False
    if tokenise and len(reference) == 1 and len(word_tokens(reference)) == 1:
        return reference in word_tokens(answer)
    return True


def split_url(url: str) -> tuple[str, dict[str, list[str]]]:
    """Host with path, and the query's values by key, of a URL without its trailing slashes."""
    parts = urlparse(url.rstrip("/"))
    return parts.netloc + parts.path, parse_qs(parts.query)


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictMatcher:
    """`webarena-strict`: the verdict of the published evaluator.

    `missing_answer` stands in where the agent never answered: the original runner appends an
    empty stop, BrowserGym puts "whatever".
    """

    name: ClassVar[str] = "webarena-strict"
    version: ClassVar[str] = "1"

    missing_answer: str = ""

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> StrictMatcher:
        """The matcher so configured. Raises ValueError for keys or values it does not know."""
        if unknown := set(config) - {"missing_answer"}:
            raise ValueError(f"{cls.name} has no setting {', '.join(sorted(unknown))}")
        return cls(missing_answer=spec.text(config.get("missing_answer", ""), "missing_answer"))

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind="matcher",
            version=self.version,
            config={"missing_answer": self.missing_answer},
        )

    def evaluate(self, task: MatchTask, outcome: MatchOutcome) -> MatchEvaluation:
        """The product of all checks, or why there is none."""
        if task.evaluation is None:
            return not_applicable("the task has no evaluation specification")
        checks: list[Check] = []
        judge_calls: list[JudgeCall] = []
        try:
            for kind in spec.evaluation_types(task.evaluation):
                if kind == "string_match":
                    answer = self.missing_answer if outcome.answer is None else outcome.answer
                    found, calls = _string_checks(task, answer)
                    checks += found
                    judge_calls += calls
                elif kind == "url_match":
                    checks.append(_url_check(task.evaluation, outcome.final_url))
                else:
                    checks += _page_checks(task.evaluation, outcome.pages)
        except (ValueError, TimeoutError) as error:
            # SpecificationError, what urlparse refuses, and NLTK's limit on hostile texts.
            return no_verdict(str(error), checks, judge_calls)
        return settle(checks, judge_calls)


def _verdict(passed: bool) -> CheckVerdict:
    return CheckVerdict.PASSED if passed else CheckVerdict.FAILED


def _string_checks(task: MatchTask, answer: str) -> tuple[list[Check], list[JudgeCall]]:
    evaluation = task.evaluation or {}
    references = spec.mapping(spec.member(evaluation, "reference_answers"), "reference_answers")
    answer = clean_answer(answer)
    checks: list[Check] = []
    calls: list[JudgeCall] = []
    for approach, value in references.items():
        if approach == "exact_match":
            reference = spec.text(value, "exact_match")
            checks.append(_text_check(approach, reference, answer, exact_match(reference, answer)))
        elif approach == "must_include":
            items = spec.array(value, "must_include")
            for item in items:
                reference = spec.text(item, "an element of must_include")
                passed = must_include(reference, answer, tokenise=len(items) == 1)
                checks.append(_text_check(approach, reference, answer, passed))
        elif approach == "fuzzy_match" and value == NOT_ACHIEVABLE:
            if exact_match(NOT_ACHIEVABLE, answer) and not any(
                check.verdict is CheckVerdict.FAILED for check in checks
            ):
                checks.append(_text_check(approach, NOT_ACHIEVABLE, answer, passed=True))
                continue
            # The judge's verdict replaces the score so far instead of multiplying it.
            checks = [replace(check, verdict=CheckVerdict.IGNORED) for check in checks]
            reason = spec.text(spec.member(evaluation, "string_note"), "string_note")
            calls.append(_call(JudgeKind.UNACHIEVABLE, reason, answer, task.intent))
            checks.append(_waiting(approach, reason, answer))
        elif approach == "fuzzy_match":
            for item in spec.array(value, "fuzzy_match"):
                reference = spec.text(item, "an element of fuzzy_match")
                calls.append(_call(JudgeKind.FUZZY, reference, answer, task.intent))
                checks.append(_waiting(approach, reference, answer))
    return checks, calls


def _text_check(name: str, reference: str, answer: str, passed: bool) -> Check:
    return Check(
        name=name,
        verdict=_verdict(passed),
        expected=reference,
        actual=answer,
        normalised=clean_answer(answer),
    )


def _waiting(name: str, reference: str, answer: str) -> Check:
    return Check(
        name=name,
        verdict=CheckVerdict.NEEDS_JUDGE,
        expected=reference,
        actual=answer,
        normalised=answer,
        message="an LLM judge decides",
    )


def _call(judge: JudgeKind, reference: str, answer: str, question: str) -> JudgeCall:
    return JudgeCall(judge=judge, reference=reference, answer=answer, question=question)


def _url_check(evaluation: Mapping[str, object], final_url: str | None) -> Check:
    reference = spec.text(spec.member(evaluation, "reference_url"), "reference_url")
    rule = evaluation.get("url_note", "GOLD in PRED")
    if rule != "GOLD in PRED":
        raise spec.SpecificationError(f"url_note is {rule}, an unknown matching rule")
    if final_url is None:
        return Check(
            name="url_match",
            verdict=CheckVerdict.NO_EVIDENCE,
            expected=reference,
            actual="",
            message="the final URL was not recorded",
        )
    base, query = split_url(final_url)
    bases = []
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for alternative in reference.split(spec.ALTERNATIVES):
        alternative_base, alternative_query = split_url(alternative)
        bases.append(alternative_base)
        for key, values in alternative_query.items():
            wanted[key].update(values)
    absent = [key for key, values in wanted.items() if not values.intersection(query.get(key, ()))]
    if not any(candidate in base for candidate in bases):
        message = "no reference's host and path is part of the page's"
    elif absent:
        message = f"the query lacks the wanted value of {', '.join(absent)}"
    else:
        message = ""
    return Check(
        name="url_match",
        verdict=_verdict(not message),
        expected=reference,
        actual=final_url,
        normalised=base,
        message=message,
    )


def _page_checks(
    evaluation: Mapping[str, object], pages: tuple[str | None, ...]
) -> Iterator[Check]:
    targets = spec.array(spec.member(evaluation, "program_html"), "program_html")
    for index, item in enumerate(targets):
        target = spec.mapping(item, f"program_html target {index + 1}")
        spec.text(spec.member(target, "url"), "url")
        locator = spec.text(spec.member(target, "locator"), "locator")
        if locator.strip() and not locator.startswith(("document.", "[...document.", "func:")):
            raise spec.SpecificationError(f"program_html has an unknown locator: {locator}")
        required = spec.mapping(spec.member(target, "required_contents"), "required_contents")
        page = pages[index] if index < len(pages) else None
        yield from _content_checks(required, page, f"program_html {index + 1}")


def _content_checks(required: Mapping[str, object], page: str | None, name: str) -> Iterator[Check]:
    if "exact_match" in required:
        reference = spec.text(required["exact_match"], "exact_match")
        yield _content_check(f"{name} exact_match", reference, page)
    elif "must_include" in required:
        for item in spec.array(required["must_include"], "must_include"):
            reference = spec.text(item, "an element of must_include")
            yield _content_check(f"{name} must_include", reference, page)
    else:
        raise spec.SpecificationError("required_contents has neither exact_match nor must_include")


def _content_check(name: str, reference: str, page: str | None) -> Check:
    if page is None:
        return Check(
            name=name,
            verdict=CheckVerdict.NO_EVIDENCE,
            expected=reference,
            actual="",
            message="the page was not captured",
        )
    content = html.unescape(page)
    if name.endswith("exact_match"):
        passed = exact_match(reference, content)
    else:
        passed = any(must_include(part, content) for part in reference.split(spec.ALTERNATIVES))
    return Check(
        name=name,
        verdict=_verdict(passed),
        expected=reference,
        actual=page,
        normalised=clean_answer(content),
    )
