"""Characters on which a terminal or a page acts instead of showing them: escape sequences, line separators, writing direction.

Names and descriptions of models are refused if they contain one; other texts, such as those of loaded files, keep it and are
shown with it escaped.
"""

from __future__ import annotations

import re

from draisine.errors import DraisineError, ModelError

# C0 and C1 but for tab and line end, separators of lines and paragraphs, embeddings, overrides and isolates of the writing
# direction, and surrogates, which UTF-8 cannot encode
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
MAX_MESSAGE = 1200  # characters, which fit a screen
_BREAK = re.compile(r"[ \t]*\n\s*|\t+")


def escaped(text: str) -> str:
    """The text with control characters as in a Python literal.

    >>> print(escaped("red \\x1b[31m, line\\nend"))
    red \\x1b[31m, line
    end
    """
    if text.isprintable():
        return text
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def refuse_control_characters(what: str, text: str, error: type[DraisineError] = ModelError) -> None:
    """An error if the text contains one; `what` is the subject of the message."""
    if text.isprintable():
        return
    found = _CONTROL.search(text)
    if found is not None:
        raise error(f"{what} has the control character {found[0]!r}; delete it")


def fitted(text: str) -> str:
    """The text, without its middle where it does not fit a screen.

    >>> len(fitted("a" * 10_000)) < 1300
    True
    """
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE // 2]} … {text[-MAX_MESSAGE // 2 :]}"


def one_line(text: str) -> str:
    """The text with blanks in place of line ends and tabs.

    >>> one_line("pivot\\n  to bob")
    'pivot to bob'
    """
    return text if text.isprintable() else _BREAK.sub(" ", text).strip(" ")
