"""Sentences in the reader's language: lists, labels, and English ones of engine and stored rows.

The engine knows no languages, and a row keeps what was written. Both stay as they are; a page
shows them by the filter `worded`. A sentence with a changing part stands here.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, pgettext


def listed(items: Iterable[object]) -> str:
    """The items as the reader's language lists them."""
    return pgettext("between the items of a list", ", ").join(map(str, items))


def labelled(label: object, value: object) -> str:
    """A value behind what it is, as the reader's language writes it."""
    return _("%(label)s: %(value)s") % {"label": label, "value": value}


IMPORTED_REWARD = gettext_noop("imported reward")
REFERENCE_VERDICT = gettext_noop("reference verdict")
EVALUATOR = gettext_noop("evaluator %(name)s")
REWARD_RULE = gettext_noop("Success is a reward above %(least)s, as the benchmark gave it.")
REFERENCE_RULE = gettext_noop("Success is what people agreed on or adjudicated.")
EVALUATOR_RULE = gettext_noop("Success is what %(name)s passes.")

_WITH_PARTS = (
    # Verdict sources
    EVALUATOR,
    REWARD_RULE,
    EVALUATOR_RULE,
    # webagent.agents.registry, webagent.environment.registry
    gettext_noop("%(model)s cannot be asked: the environment variable %(name)s is not set."),
    gettext_noop("%(name)s: there is no such model in the file of models (it has %(known)s)"),
    gettext_noop("There is no %(what)s %(name)s. There are: %(known)s."),
    gettext_noop("The configuration does not fit the agent %(name)s: %(reason)s"),
    gettext_noop("No suite provides %(task)s. Suites that are here: %(suites)s."),
    gettext_noop("%(suite)s has no task %(task)s. Did you mean %(names)s?"),
    gettext_noop("%(suite)s has no task %(task)s."),
    gettext_noop("%(suite)s cannot run here; it lacks %(packages)s."),
    # webagent.environment.probing
    gettext_noop("sends to another address: %(address)s"),
    gettext_noop("no answer within %(seconds)s s"),
    gettext_noop("cannot be reached: %(reason)s"),
    # The audit log
    gettext_noop("study %(n)s"),
    gettext_noop("version %(n)s"),
    gettext_noop("command %(name)s"),
    gettext_noop("saw %(seen)s"),
    gettext_noop("%(n)s runs: %(ids)s"),
    gettext_noop("%(n)s %(what)s"),
    gettext_noop("any number of %(what)s"),
    gettext_noop("%(what)s of an audit"),
    gettext_noop("%(what)s of an experiment"),
    gettext_noop("%(what)s by the API"),
    # Why files, runs and rows of labels are refused at import. What only one format's reader says
    # of a part that it leaves out stays English.
    # webagent.trajectory.reading
    gettext_noop("no %(format)s run in it"),
    gettext_noop("more than %(n)s %(what)s"),
    gettext_noop("empty or more than %(n)s characters"),
    gettext_noop("may be %(one)s or %(other)s: say which with the format"),
    gettext_noop("unexpected: %(name)s"),
    # webagent.trajectory.intake, webagent.trajectory.files
    gettext_noop("decompresses to more than %(n)s times its size"),
    gettext_noop("more than %(n)s bytes when decompressed"),
    gettext_noop("a line of more than %(n)s %(what)s"),
    gettext_noop("cannot be read: %(reason)s"),
    gettext_noop("not readable as %(syntax)s: %(reason)s"),
    gettext_noop("%(n)s bytes instead of %(due)s"),
    # webagent.trajectory.formats.native
    gettext_noop("version %(version)s is newer than %(known)s"),
    gettext_noop("%(n)s of %(due)s steps are here"),
    gettext_noop("%(name)s is not in %(file)s"),
    # judging.portability.judgements
    gettext_noop("has %(n)s cells; the header has %(due)s"),
    gettext_noop("the run has %(n)s steps, from 0"),
    gettext_noop("%(name)s has another label on this run"),
    gettext_noop("is none of %(words)s"),
    gettext_noop("several runs fit; tell them apart by run_id, %(columns)s"),
    # Python's reader of JSON
    gettext_noop("%(reason)s: line %(n)s column %(column)s (char %(at)s)"),
    # Pydantic
    gettext_noop("Input should be a valid %(type)s"),
)
_COUNTED = (
    gettext_noop("runs"),
    gettext_noop("rows"),
    gettext_noop("days"),
    gettext_noop("bytes"),
    gettext_noop("characters"),
    gettext_noop("lines"),
    gettext_noop("members"),
    "entries",
    "files",
    "steps",
    gettext_noop("new"),
    gettext_noop("filled"),
    gettext_noop("rejected"),
    gettext_noop("in force"),
    gettext_noop("tasks patched"),
)
_ONE = {
    "runs": gettext_noop("run"),
    "rows": gettext_noop("row"),
    "days": gettext_noop("day"),
    "bytes": gettext_noop("byte"),
    "entries": gettext_noop("entry"),
    "tasks patched": gettext_noop("task patched"),
    "%(n)s runs: %(ids)s": gettext_noop("%(n)s run: %(ids)s"),
}
"""How some are called where there is one."""
_VIEWED = (
    gettext_noop("runs left out"),
    gettext_noop("failures"),
    "verdicts",
    "evaluations",
    "detectors",
    gettext_noop("table"),
    "all verdicts",
    "what-if",
)
_TYPES = (
    gettext_noop("string"),
    gettext_noop("integer"),
    gettext_noop("number"),
    gettext_noop("boolean"),
    gettext_noop("array"),
    gettext_noop("tuple"),
    gettext_noop("object"),
    gettext_noop("dictionary"),
)
_WHOLE = (
    IMPORTED_REWARD,
    REFERENCE_VERDICT,
    REFERENCE_RULE,
    gettext_noop("The pages of MiniWoB++ are missing: install the package `miniwob`."),
    gettext_noop("cannot be reached"),
    gettext_noop("judgements of a run"),
    gettext_noop("overruled label"),
    gettext_noop("deleted"),
    gettext_noop("worker"),
    # Why files, runs and rows of labels are refused at import
    gettext_noop("no run of a known format in it"),
    gettext_noop("not the id of its task"),
    gettext_noop("ends before it begins"),
    gettext_noop("belongs to another run"),
    gettext_noop("not a media type"),
    gettext_noop("holds invisible or incomplete characters"),
    gettext_noop("the file is empty"),
    gettext_noop("neither a readable zip nor JSON"),
    gettext_noop("cut short: the end is missing"),
    gettext_noop("cut short: what is missing of this run is not known; send the whole file"),
    gettext_noop("nested too deeply"),
    gettext_noop("not a JSON object"),
    gettext_noop("missing"),
    gettext_noop("missing or not a text"),
    gettext_noop("appears twice"),
    gettext_noop("absolute path, empty segment or forbidden character"),
    gettext_noop("path too long or too deep"),
    gettext_noop("not a regular file"),
    gettext_noop("link that leads nowhere"),
    gettext_noop("leads outside"),
    gettext_noop("the bytes are not those that the hash names"),
    gettext_noop("nobody can tell whether its steps are all here"),
    gettext_noop("not readable, and there is no step"),
    gettext_noop("neither a response nor a result nor a trace"),
    gettext_noop("no message of an agent"),
    gettext_noop("no trace that can be read"),
    gettext_noop("does not begin with the context's options"),
    gettext_noop("no list"),
    gettext_noop("no states and actions"),
    # judging.portability.judgements
    gettext_noop("not readable as JSON"),
    gettext_noop("is too long, too deep or holds what cannot be stored"),
    gettext_noop("has not all cells that an annotation has"),
    gettext_noop("is out of range"),
    gettext_noop("there is no such run here"),
    gettext_noop("you are to judge a run of this task yourself; name the run by run_id"),
    gettext_noop("is missing, and so are content_hash and task"),
    gettext_noop("is missing; a run without trajectory is named by task_set, task and agent"),
    gettext_noop("the run's labels settled it or are disputed in this study already"),
    gettext_noop("another verdict on this run is here already"),
    # Python's reader of JSON, before the place
    gettext_noop("Expecting value"),
    gettext_noop("Extra data"),
    gettext_noop("Expecting property name enclosed in double quotes"),
    gettext_noop("Expecting ',' delimiter"),
    gettext_noop("Expecting ':' delimiter"),
    gettext_noop("Unterminated string starting at"),
    # Pydantic
    gettext_noop("Field required"),
    gettext_noop("Extra inputs are not permitted"),
)
"""Those that no other place marks for translation."""
QUESTIONS = (
    gettext_noop("What do the human labels 0, 1 and 2 mean?"),
    gettext_noop("0 failure, 1 success, 2 not executable (the benchmark's own rule)"),
    gettext_noop("0 not executable, 1 success, 2 failure"),
    gettext_noop("labels 0 and 2 are left out"),
    gettext_noop("What becomes of labels and verdicts whose trajectories are not in the file?"),
    gettext_noop("kept, as runs without trajectory"),
    gettext_noop("left out"),
)
"""What formats ask, as `webagent.trajectory.formats` writes it."""
_SEEN = {
    "end": gettext_noop("the end"),
    "answer": gettext_noop("the answer"),
    "nothing": gettext_noop("none"),
}
_SPAN = re.compile("[0-9]+(-[0-9]+)?")
_VALUES = {
    **dict.fromkeys(("n", "due", "column", "at"), "[0-9]+"),
    "syntax": "JSON|CSV",
    "type": "|".join(_TYPES),
    "what": "|".join(map(re.escape, (*_COUNTED, *_VIEWED, "agent"))),
}
"""What a part may be, where not everything. `what`, `type` and `reason` are worded, too."""
LONGEST = 2_000
"""Characters of a sentence; what is longer is none of ours, and may be anybody's."""
_PART = re.compile(r"%\\\((\w+)\\\)s")
_FORMS = {
    sentence: re.compile(
        _PART.sub(lambda part: f"(?P<{part[1]}>{_VALUES.get(part[1], '.+')})", re.escape(sentence))
    )
    for sentence in _WITH_PARTS
}


def worded(written: str) -> str:
    """The sentence in the reader's language; as it was written, if it is none of ours."""
    if not written or len(written) > LONGEST:
        return written
    sentence, parts = _recognised(written)
    is_one = parts.get("n") == "1"
    sentence = _ONE.get(sentence, sentence) if is_one else sentence
    if what := parts.get("what"):
        parts = parts | {"what": _in_words(_ONE.get(what, what) if is_one else what)}
    if kind := parts.get("type"):
        parts = parts | {"type": _(kind)}
    if seen := parts.get("seen"):
        parts = parts | {"seen": _seen_in_words(seen)}
    if reason := parts.get("reason"):
        parts = parts | {"reason": worded(reason)}
    return _(sentence) % parts if parts else _in_words(sentence)


def _seen_in_words(seen: str) -> str:
    """What an annotator saw of a run, as `judging.studies.labels.forms` keeps it."""
    words = seen.split()
    if any(word not in _SEEN and not _SPAN.fullmatch(word) for word in words):
        return seen
    spans = [word for word in words if word not in _SEEN]
    is_one = len(spans) == 1 and spans[0].isdecimal()
    steps = _("step %(n)s") if is_one else _("steps %(n)s")
    told = [steps % {"n": listed(spans)}] if spans else []
    told += [_(_SEEN[word]) for word in words if word in _SEEN]
    return listed(told)


def _in_words(known: str) -> str:
    """It is known as it stands in a line, or at the head of one."""
    for form in (known, capfirst(known)):
        if (words := _(form)) != form:
            return words
    return known


@lru_cache(maxsize=1_000)
def _recognised(written: str) -> tuple[str, dict[str, str]]:
    for sentence, form in _FORMS.items():
        if found := form.fullmatch(written):
            return sentence, found.groupdict()
    return written, {}


def details_worded(written: str) -> str:
    """The same of each part between commas: `3 runs, csv`."""
    return listed(worded(part) for part in written.split(", "))
