"""Parts of speech as one letter a token.

    J adjective             N common noun           E name (proper noun)
    M number                V verb, auxiliaries     R adverb
    D determiner            O pronoun               P preposition, subordinating conjunction
    C conjunction           T particle              X foreign word, URL, interjection
    U punctuation, symbol

They are the twelve classes of S. Petrov, D. Das and R. McDonald, "A universal part-of-speech
tagset," in Proc. LREC, 2012, pp. 2089-2096, with names apart from other nouns. A tagger is a
function from the words of a sentence to their tags: letters, universal tags or Penn tags.
"""

# ruff: noqa: RUF001 - typographic quotes and dashes are what texts contain

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from parcast.applications.text.features.brill import Brill
from parcast.applications.text.features.corrections import correct
from parcast.applications.text.features.english import FIXED, MONTHS_AND_DAYS
from parcast.errors import ParameterError, RunFailed
from parcast.places import load
from parcast.words import did_you_mean

Tagger = Callable[[Sequence[str]], Sequence[str]]

LETTERS = "JNEMVRDOPCTXU"
UNIVERSAL = {
    "ADJ": "J", "ADP": "P", "ADV": "R", "AUX": "V", "CCONJ": "C", "CONJ": "C", "DET": "D",
    "INTJ": "X", "NOUN": "N", "NUM": "M", "PART": "T", "PRT": "T", "PRON": "O", "PROPN": "E",
    "PUNCT": "U", ".": "U", "SCONJ": "P", "SYM": "U", "VERB": "V", "X": "X",
}  # fmt: skip
PENN = {
    "CC": "C", "CD": "M", "DT": "D", "EX": "O", "FW": "X", "IN": "P", "LS": "X", "MD": "V",
    "JJ": "J", "JJR": "J", "JJS": "J", "NN": "N", "NNS": "N", "NNP": "E", "NNPS": "E", "PDT": "D",
    "POS": "T", "PRP": "O", "PRP$": "O", "RB": "R", "RBR": "R", "RBS": "R", "RP": "P", "TO": "P",
    "UH": "X", "VB": "V", "VBD": "V", "VBG": "V", "VBN": "V", "VBP": "V", "VBZ": "V", "WDT": "O",
    "WP": "O", "WP$": "O", "WRB": "R", "NOT": "T",
}  # fmt: skip
FORM = re.compile(
    r"""(?x)
      (?P<FW> \w+://.* | www\..+ | [^@\s]+@[^@\s]+\.\w+ | --?[A-Za-z][\w-]*(?:=.*)? )
    | (?P<JJ> \d+(?:st|nd|rd|th) | \d[\d.,]*-[^\W\d].* )
    | (?P<CD> [-+−]?\.?\d[\d.,:/½¼¾⅓⅔⅛×'-]*(?:[^\W\d]{1,4})? | X{0,3}(?:IX|IV|VI{1,3}|II{1,2}) )
    | (?P<NNP> (?>\w*?[a-z\d]_)\w+ | [A-Z]+_\w+ | _\w+           # MPI_Send, READER_SAFE
             | [~.]*/.+ | (?>\w.*?/).*\.\w+ | \w[\w-]*\.[a-z]\w{0,4}   # src/reader.c, a.txt
             | [a-z]+[A-Z]\w* )                                         # mpiExec
    | (?P<U> [^\w\s]+ )
    """
)


@dataclass(frozen=True, slots=True)
class RuleTagger:
    """The default tagger: TextBlob's word list and rules, and what English grammar adds."""

    brill: Brill
    kept: dict[str, str] = field(default_factory=dict)  # word -> tag by its form, "" if none

    def __call__(self, words: Sequence[str]) -> str:
        """Letters of the words of a sentence."""
        fixed = [self._fixed(word) for word in words]
        tags = self.brill.first_tags(words)
        if words and words[0][0].isupper() and not fixed[0]:
            tags[0] = self._first(words, tags)
        first = [fix or tag for fix, tag in zip(fixed, tags, strict=True)]
        penn = self.brill.context.apply(words, first, [bool(fix) for fix in fixed])
        letters = [PENN.get(tag, "U" if tag == "U" else "N") for tag in penn]
        lower = [word.lower() for word in words]
        correct(lower, penn, letters)
        return "".join(letters)

    def _fixed(self, word: str) -> str:
        """Penn tag of a word in every context: by its form, or of a closed class; else ""."""
        tag = self.kept.get(word)
        if tag is None:
            if len(word) > LONGEST:
                return "FW"
            match = FORM.fullmatch(word)
            if word in MONTHS_AND_DAYS and word != "May":
                tag = "NNP"
            elif match:
                tag = match.lastgroup or ""
            else:
                tag = FIXED.get(word if word.isupper() and len(word) > 1 else word.lower(), "")
                tag = tag or self._slashed(word)
            if len(self.kept) < MOST_KEPT:
                self.kept[word] = tag
        return tag

    def _slashed(self, word: str) -> str:
        """Tag of words that slashes join: a noun, unless the last is an adjective or an adverb."""
        *before, last = word.split("/")
        if not before or not any(map(str.isalpha, word)):
            return ""
        known = self.brill.lexicon.get(last) if not word.isupper() else None
        return known if known in ("JJ", "RB") else "NN"

    def _first(self, words: Sequence[str], tags: list[str]) -> str:
        """Tag of the capitalised first word, which need not be a name.

        Unless another capitalised word follows, it is tagged as if it were written small.
        """
        word, small = words[0], words[0].lower()
        after = words[1] if len(words) > 1 else ""
        if not word.istitle() or (after.istitle() and after.lower() not in FIXED):
            return tags[0]
        known = self.brill.lexicon.get(small)
        if known is not None:
            return known if tags[0] == "NNP" else tags[0]
        if word in self.brill.lexicon:
            return tags[0]
        tag = self.brill.unknown.tag(small, "", after, self.brill.lexicon)
        return tag if tag != "NN" else tags[0]


MOST_KEPT = 100_000
LONGEST = 64  # characters of what may be a word


@dataclass(frozen=True, slots=True)
class PerceptronTagger:
    """An averaged perceptron trained on UD English-EWT: the package denckring-en-pos.

    It was trained without punctuation, which it is not given; words of a fixed form are not its.
    """

    tag: Tagger

    @classmethod
    def load(cls) -> "PerceptronTagger":
        """Load the model of the installed package."""
        try:
            from denckring_en_pos import tagger
        except ImportError as error:
            raise RunFailed(
                "The tagger denckring requires the package denckring-en-pos, which is not "
                'installed. Install it with: pip install "parcast[tagger]"'
            ) from error
        return cls(tagger().tag)

    def __call__(self, words: Sequence[str]) -> str:
        """Letters of the words of a sentence."""
        forms = [
            "FW" if len(word) > LONGEST else (form.lastgroup or "") if form else ""
            for word, form in ((word, FORM.fullmatch(word[:LONGEST])) for word in words)
        ]
        tagged = [i for i, form in enumerate(forms) if form not in ("U", "CD")]
        letters = [PENN.get(form, "U") for form in forms]
        for i, label in zip(tagged, self.tag([words[i] for i in tagged]), strict=True):
            if not forms[i]:
                letters[i] = UNIVERSAL.get(label.partition("|")[0], "X")
        lower = [word.lower() for word in words]
        for i, word in enumerate(lower):  # what a treebank and its tagger cannot disagree about
            letters[i] = PENN.get(FIXED.get(word, ""), letters[i])
        correct(lower, [""] * len(lower), letters)
        return "".join(letters)


@dataclass(frozen=True, slots=True)
class UsersTagger:
    """A function of the user, whose tags are checked and given as letters."""

    place: str
    tag: Tagger

    def __call__(self, words: Sequence[str]) -> str:
        """Letters of the words of a sentence."""
        tags = list(self.tag(words))
        if len(tags) != len(words):
            raise RunFailed(
                f"The tagger {self.place} returned {len(tags)} tags for {len(words)} words. "
                "It must return one tag for each word of the sentence."
            )
        try:
            return "".join(map(letter_of, tags))
        except ParameterError as error:
            raise RunFailed(
                f"The tagger {self.place} returned a tag that is not known: {error}"
            ) from error


def letter_of(tag: object) -> str:
    """Letter of a universal tag, a Penn tag or a letter.

    >>> letter_of("NOUN"), letter_of("VBD"), letter_of("J"), letter_of("``")
    ('N', 'V', 'J', 'U')
    """
    name = str(tag)
    found = UNIVERSAL.get(name) or PENN.get(name)
    if found is None and len(name) == 1 and name in LETTERS:
        found = name
    if found is None and name and not any(map(str.isalnum, name)):
        found = "U"  # Penn's tags of punctuation: , : `` '' $ #
    if found is None:
        raise ParameterError(
            "tag",
            must="be a universal tag (NOUN, ADJ, ...), a Penn tag (NN, JJ, ...) or a letter",
            got=repr(tag),
            hint=f"The letters are {LETTERS}.",
        )
    return found


BUILT_IN: dict[str, Callable[[], Tagger]] = {
    "textblob": lambda: RuleTagger(Brill.load()),
    "denckring": PerceptronTagger.load,
}


def load_tagger(name: str) -> Tagger:
    """Load a tagger: "textblob", "denckring" or the function at "module:function"."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    if ":" not in name:
        raise ParameterError(
            "tagger",
            must="be textblob, denckring or module:function",
            got=repr(name),
            hint=did_you_mean(name, BUILT_IN)
            or "A function takes the words of a sentence and returns their tags.",
        )
    if os.getcwd() not in sys.path:  # where the command is started, as `python -m` has it
        sys.path.append(os.getcwd())
    try:
        function = load(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(
            "tagger",
            must="name a function that can be imported",
            got=f"{name!r}: {error}",
            hint="Its module must be in the current folder or on PYTHONPATH.",
        ) from error
    if not callable(function):
        raise ParameterError(
            "tagger", must="name a function", got=f"{name!r}: {type(function).__name__}"
        )
    return UsersTagger(name, function)
