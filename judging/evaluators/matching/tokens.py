"""Is a one-character reference a token of its own? As NLTK's `word_tokenize` has it.

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

from collections.abc import Callable
from functools import cache

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
