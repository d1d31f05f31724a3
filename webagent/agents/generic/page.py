"""A page's tree, cut to a number of tokens around what matters, with notes of what is left out.

What matters: what was acted on, what the goal names, what is in view.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from webagent.llm.budget import count_tokens, longest_fitting
from webagent.llm.untrusted import filled
from webagent.trajectory.axtree import Node, parse_axtree
from webagent.trajectory.texts import quoted

CUT = "2"
"""Goes with each run of an agent; another one where other lines of an equal page are kept."""
LONGEST_LINE = 400
"""Characters of one line of a tree that is cut anyway."""
SMALL_GAP = 4
"""So few lines stand in for the note of their absence where that would be no shorter."""
NEAR = 2
"""So many lines before and after a small thing that matters matter with it."""
RECORD = 24
"""What holds no more lines than that is one thing: a row, an entry of a list, a small form."""
STRONG = 0.3
"""A line counts as what the goal is about with so much of the value of the best one."""

_ACTING = (
    "button checkbox combobox gridcell link listbox menuitem menuitemcheckbox menuitemradio"
    " option radio searchbox slider spinbutton switch tab textbox treeitem"
)
_ACTING_ROLES = frozenset(_ACTING.split())
_STRUCTURE = "heading LabelText columnheader rowheader dialog alert status"
_STRUCTURE_ROLES = frozenset(_STRUCTURE.split())
_JAPANESE = "\\u3040-\\u30ff\\u3400-\\u9fff"
_WORD = re.compile(rf"[^\W{_JAPANESE}]{{3,}}")
_UNSPACED = re.compile(rf"[{_JAPANESE}]{{2,}}")
_SAYING_NOTHING = (
    "all and any are but can does each for from had has have her his how its not one only our out"
    " she than that the their them then there they this was were what when where which who with"
    " you your"
)
_PASSED_OVER = frozenset(_SAYING_NOTHING.split())
_COMMON_SHARE = 0.1
_PHRASE = 3
"""A quoted phrase counts for so many words that are as rare."""
_Said = tuple[str, bool]
"""A word, or a phrase if the second is true."""


def can_be_acted_on(node: Node) -> bool:
    """Whether an element is there to be clicked, filled or chosen."""
    return node.bid is not None and (node.role in _ACTING_ROLES or node.has("clickable"))


@dataclass(frozen=True, slots=True)
class Interest:
    """What a page is looked at for: texts with words that matter, and elements by their bid.

    `in_view` are the elements that the browser's window shows, where that is known.
    """

    texts: tuple[str, ...] = ()
    bids: frozenset[str] = frozenset()
    in_view: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a tree. `parents` are the lines that it stands in, `end` is behind its last."""

    text: str
    node: Node | None
    parents: tuple[int, ...]
    end: int

    @property
    def acts(self) -> bool:
        """Whether it is there to be acted on."""
        return self.node is not None and can_be_acted_on(self.node)

    @property
    def structures(self) -> bool:
        """Whether it tells what others are: a heading, a label."""
        return self.node is not None and self.node.role in _STRUCTURE_ROLES

    def is_one_of(self, bids: Collection[str]) -> bool:
        """Whether it is one of these elements."""
        return self.node is not None and self.node.bid in bids


def cut_tree(tree: str, tokens: int, interest: Interest, note: str) -> str:
    """The tree within so many tokens; empty if not even a note fits.

    Equal trees and interests are cut equally. Every line is kept with those that it stands in.

    Args:
        note: stands for lines left out; has slots for `lines` and `acting`.
    """
    if count_tokens(tree) <= tokens:
        return tree
    lines = _read_lines(tree)
    drawer = _Drawer(lines, note)
    order = _by_importance(lines, interest)
    return longest_fitting(lambda n: drawer.drawn(order[:n]), len(order), tokens)


class _Drawer:
    def __init__(self, lines: Sequence[_Line], note: str) -> None:
        self._lines = lines
        self._note = note
        self._shown = [_short(line.text) for line in lines]

    def drawn(self, chosen: Sequence[int]) -> str:
        """The chosen lines and all that they stand in, with notes in the gaps."""
        kept = set(chosen)
        for index in chosen:
            kept.update(self._lines[index].parents)
        shown: list[str] = []
        for is_kept, stretch in groupby(range(len(self._lines)), key=kept.__contains__):
            indices = list(stretch)
            shown += [self._shown[each] for each in indices] if is_kept else self._noted(indices)
        return "\n".join(shown)

    def _noted(self, gap: Sequence[int]) -> list[str]:
        lines = [self._lines[index] for index in gap]
        indent = "\t" * min(len(line.parents) for line in lines)
        acting = sum(line.acts for line in lines)
        note = indent + filled(self._note, lines=len(lines), acting=acting)
        if len(gap) <= SMALL_GAP:
            missing = [self._shown[index] for index in gap]
            if count_tokens("\n".join(missing)) <= count_tokens(note):
                return missing
        return [note]


def _short(text: str) -> str:
    if len(text) <= LONGEST_LINE:
        return text
    return f"{text[:LONGEST_LINE]}… ({len(text) - LONGEST_LINE} characters left out)"


def _read_lines(tree: str) -> list[_Line]:
    """The lines of a flattened tree in order."""
    texts = tree.split("\n")
    parents: list[tuple[int, ...]] = []
    ends = [len(texts)] * len(texts)
    above: list[tuple[int, int]] = []
    for index, text in enumerate(texts):
        depth = len(text) - len(text.lstrip("\t"))
        while above and above[-1][0] >= depth:
            ends[above.pop()[1]] = index
        parents.append(tuple(parent for _, parent in above))
        above.append((depth, index))
    return [
        _Line(text, next(iter(parse_axtree(text)), None), parents[index], ends[index])
        for index, text in enumerate(texts)
    ]


def _by_importance(lines: Sequence[_Line], interest: Interest) -> list[int]:
    """The lines, most important first.

    First come the page itself and the elements of interest, then what the goal is about with what
    belongs to it, then what is in view, then what shares a common word or two with the goal, then
    what can be acted on, then headings and labels, then the rest from near to far.
    """
    values = _values(lines, interest)
    enough = STRONG * max(values, default=0.0)
    anchors = {index for index, value in enumerate(values) if value and value >= enough}
    in_view = _in_view(lines, interest.in_view)
    distance = _distances(len(lines), anchors or in_view)

    def rank(index: int) -> tuple[int, float, int, int]:
        line, value, far = lines[index], values[index], distance[index]
        if index == 0 or line.is_one_of(interest.bids):
            return 0, 0, 0, index
        if index in anchors:
            return 1, -value, 0, index
        if index in in_view:
            return 2, not line.acts, far, index
        if value:
            return 3, -value, 0, index
        return 4, 0 if line.acts else 1 if line.structures else 2, far, index

    return sorted(range(len(lines)), key=rank)


def _values(lines: Sequence[_Line], interest: Interest) -> list[float]:
    """What each line is worth for what it says, or for what it belongs to.

    What makes up one thing (a row, an entry) is looked at together: of the rows that name a
    customer, the one that names the month as well is worth more, and so is the button at its end.
    """
    own = _matches(lines, interest.texts)
    things: dict[range, dict[_Said, float]] = {}
    for index, matched in own.items():
        things.setdefault(_thing(lines, index), {}).update(matched)
    values = [0.0] * len(lines)
    for thing, matched in things.items():
        worth = sum(matched.values())
        for index in _with_neighbours(thing, len(lines)):
            alone = sum(own.get(index, {}).values())
            share = (worth + alone) / 2 if index in thing else worth / 3
            values[index] = max(values[index], share)
    best = max(values, default=0.0) or 1.0
    for index, line in enumerate(lines):
        if line.is_one_of(interest.bids):
            for other in _with_neighbours(_thing(lines, index), len(lines)):
                values[other] = max(values[other], best / 2)
    return values


def _thing(lines: Sequence[_Line], index: int) -> range:
    """The lines that belong together with this one: the largest thing that it is a part of."""
    for parent in (*lines[index].parents, index):
        if parent and lines[parent].end - parent <= RECORD:
            return range(parent, lines[parent].end)
    return range(index, index + 1)


def _with_neighbours(thing: range, n: int) -> range:
    """On a page of loose lines, what comes before and after belongs to it too."""
    if len(thing) > 2 * NEAR:
        return thing
    return range(max(0, thing.start - NEAR), min(n, thing.stop + NEAR))


def _matches(lines: Sequence[_Line], texts: Iterable[str]) -> dict[int, dict[_Said, float]]:
    """Which words and phrases of interest each line has, and what each is worth.

    The fewer lines have one, the more it tells; words that stand in many lines tell nothing.
    """
    texts = list(texts)
    phrases = {
        phrase.casefold(): _whole(phrase)
        for text in texts
        for phrase in quoted(text)
        if len(phrase.strip()) > 1
    }
    words = {word for text in texts for word in _words(text)} - _PASSED_OVER
    found: dict[int, list[_Said]] = {}
    spread: Counter[_Said] = Counter()
    for index, line in enumerate(lines):
        shown = f"{line.node.name} {line.node.value or ''}" if line.node else line.text
        shown = shown.casefold()
        said = [(word, False) for word in words & _words(shown)]
        said += [(phrase, True) for phrase, whole in phrases.items() if whole.search(shown)]
        spread.update(said)
        if said:
            found[index] = said
    most = max(3, int(len(lines) * _COMMON_SHARE))
    worth = {
        each: (_PHRASE if each[1] else 1) * math.log1p(len(lines) / n)
        for each, n in spread.items()
        if each[1] or n <= most
    }
    matches = {
        index: {each: worth[each] for each in said if each in worth}
        for index, said in found.items()
    }
    return {index: matched for index, matched in matches.items() if matched}


def _words(text: str) -> set[str]:
    """Its words; of what is written without blanks between words, every two characters."""
    folded = text.casefold()
    pairs = {run[at : at + 2] for run in _UNSPACED.findall(folded) for at in range(len(run) - 1)}
    return {*_WORD.findall(folded), *pairs}


def _whole(phrase: str) -> re.Pattern[str]:
    """Finds the phrase, but not within other words: "OK" is not in "Books"."""
    return re.compile(rf"(?<![a-z0-9]){re.escape(phrase.strip().casefold())}(?![a-z0-9])")


def _in_view(lines: Sequence[_Line], bids: Collection[str]) -> set[int]:
    """The lines of these elements, and of the texts right in them, which have no bid."""
    seen = {index for index, line in enumerate(lines) if line.is_one_of(bids)}
    return seen | {
        index
        for index, line in enumerate(lines)
        if line.parents and line.parents[-1] in seen and not (line.node and line.node.bid)
    }


def _distances(n: int, anchors: Collection[int]) -> list[int]:
    """How far each line is from the nearest anchor; from the top if there is none."""
    far = [n + index for index in range(n)]
    for indices in (range(n), range(n - 1, -1, -1)):
        last: int | None = None
        for index in indices:
            last = index if index in anchors else last
            if last is not None:
                far[index] = min(far[index], abs(index - last))
    return far
