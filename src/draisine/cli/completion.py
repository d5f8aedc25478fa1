"""`draisine completion bash|zsh|fish`: a script that completes commands, options, models and studies in the shell.

The library shtab makes the script from the parser; the names of models and studies, and files, are added here. Source the
script, or store it where the shell looks:

    draisine completion bash > ~/.local/share/bash-completion/completions/draisine
    draisine completion zsh > "${fpath[1]}/_draisine"
    draisine completion fish > ~/.config/fish/completions/draisine.fish
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import shtab

from draisine import gallery
from draisine.cli.data_options import FILTERS, STUDIES, studies_in
from draisine.cli.parser import parser
from draisine.cli.terminal import DONE

FILES: dict[str, Any] = shtab.glob("*.toml", "*.txt", "*.json")


def run_completion(given: argparse.Namespace, _: list[str]) -> int:
    """Print the script."""
    print(script(given.shell))
    return DONE


def script(shell: str) -> str:
    """The completion script for a shell."""
    command_line = parser()
    for command, options in commands_of(command_line).items():
        for action in options._actions:
            completions = _completions(command, action)
            if completions is not None:
                action.complete = completions  # type: ignore[attr-defined]
    return str(shtab.complete(command_line, shell))


def commands_of(command_line: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    (found,) = (a for a in command_line._actions if isinstance(a, argparse._SubParsersAction))
    return dict(found.choices)


def _completions(command: str, action: argparse.Action) -> dict[str, Any] | None:
    """What may stand for an argument; None leaves it to shtab."""
    if action.type is Path:
        return dict(shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE)
    if action.metavar == "MODEL":
        return _names_or_files("models", gallery.models())
    if action.metavar == "STUDY|MODEL":
        return _names_or_files("filters", [*studies_in(FILTERS), *gallery.models()])
    if action.metavar == "STUDY":
        own = {"estimate": lambda: studies_in(STUDIES), "optimize": gallery.maneuvers}
        return _names_or_files(f"{command}_studies", own.get(command, gallery.studies)())
    return None


def _names_or_files(key: str, names: Iterable[str]) -> dict[str, Any]:
    """Completion by names, and by model and study files."""
    words, function = " ".join(names), f"_draisine_{key}_or_glob"
    bash = f"{function}() {{\n  compgen -W '{words}' -- $1\n  {FILES['bash']} $1\n}}"
    zsh = f"{function}() {{\n  _alternative 'names:name:({words})' 'files:file:_files -g \"*.(toml|txt|json)\"'\n}}"
    helpers = {"bash": FILES["preamble"]["bash"] + bash, "zsh": zsh, "fish": FILES["preamble"]["fish"]}
    return {"bash": function, "zsh": function, "fish": f"{words} {FILES['fish']}", "preamble": helpers}
