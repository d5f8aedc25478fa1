"""The messages of the page on troubleshooting are those of the code: each part between its gaps stands in some source file."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import draisine
from extensions import DOCS

PAGE = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^> (.+)$", PAGE, flags=re.MULTILINE)
KIND = re.compile(r"^([A-Z_]+): ")


@cache
def texts() -> str:
    """All text of the package's strings, pieces of one literal joined, with a gap for what is filled in."""
    found = []
    for file in sorted(Path(draisine.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append("".join(part.value if isinstance(part, ast.Constant) else "\0" for part in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def parts(message: str) -> list[str]:
    """What a message says by itself: without gaps and the quotes around them; a status is a word of its own."""
    plain = KIND.sub(lambda kind: kind[1] + "…", message)
    return [part.strip("' ") for part in re.split(r"'?…'?", plain) if len(part.strip("' .,;:()")) > 2]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_one_of_the_code(message):
    assert parts(message)
    missing = [part for part in parts(message) if part not in texts()]
    assert not missing, missing


def test_there_are_messages_with_cause_and_cure():
    assert len(MESSAGES) >= 25 and PAGE.count("**Cause.**") == PAGE.count("**Cure.**") == len(MESSAGES)


def test_a_message_that_no_code_writes_is_found():
    assert any(part not in texts() for part in parts("the wheel '…' is too round at …"))
