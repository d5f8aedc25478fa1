"""`draisine completion bash|zsh|fish`: a script that completes commands, options, models and studies in the shell.

It is made from the parser itself, so that it knows what the commands know. Source it, or keep it where the shell looks:

    draisine completion bash > ~/.local/share/bash-completion/completions/draisine
    draisine completion zsh > "${fpath[1]}/_draisine"
    draisine completion fish > ~/.config/fish/completions/draisine.fish
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from draisine.cli.terminal import DONE

SHELLS = ("bash", "zsh", "fish")


def add(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "completion",
        help="a script that completes commands, options and names in the shell",
        description="Print a script that completes commands, options, models and studies in the shell; source it, or keep it "
        "where the shell looks for such scripts.",
        epilog='example: draisine completion bash > ~/.local/share/bash-completion/completions/draisine, or: eval "$(draisine '
        'completion bash)"',
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.set_defaults(action=run)


def run(given: argparse.Namespace, _: list[str]) -> int:
    """Print the script."""
    from draisine.cli.parser import parser

    print(script(given.shell, parser()))
    return DONE


@dataclass(frozen=True)
class Option:
    """One option of a command: what may follow it, if anything does."""

    name: str
    description: str
    takes: str  # "" nothing, "word" anything, "file", "folder", "choice"
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """One command with its options and what stands after it: names to choose from, and whether files may stand there."""

    name: str
    description: str
    options: tuple[Option, ...]
    names: tuple[str, ...] = ()
    files: bool = False


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script for a shell."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands_of(parser))


def commands_of(parser: argparse.ArgumentParser) -> list[Command]:
    """Every command of the parser with all that can be completed after it."""
    (tree,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    description = {choice.dest: choice.help or "" for choice in tree._choices_actions}
    return [_command(name, description.get(name, ""), one) for name, one in tree.choices.items()]


def _command(name: str, description: str, parser: argparse.ArgumentParser) -> Command:
    options, names, files = [], list[str](), False
    for action in parser._actions:
        if action.option_strings:
            options.append(_option(action))
        elif action.choices:
            names += [str(choice) for choice in action.choices]
        else:
            names += _names(name if action.metavar == "STUDY" else "", str(action.metavar))
            files = True
    return Command(name, description, tuple(options), tuple(names), files)


def _option(action: argparse.Action) -> Option:
    name = next((text for text in action.option_strings if text.startswith("--")), action.option_strings[0])
    description = (action.help or "").partition("%(")[0]
    if action.nargs == 0:
        return Option(name, description, "")
    if action.choices:
        return Option(name, description, "choice", tuple(map(str, action.choices)))
    if action.type is Path:
        return Option(name, description, "folder" if action.metavar == "DIR" else "file")
    if action.metavar == "MODEL":
        return Option(name, description, "choice", _names("", "MODEL"))
    return Option(name, description, "word")


@cache
def _names(command: str, metavar: str) -> tuple[str, ...]:
    """Names that stand for a MODEL or a STUDY of a command."""
    from draisine import gallery
    from draisine.cli.estimate import known

    if metavar == "MODEL":
        return tuple(gallery.models())
    if metavar == "STUDY":
        of: dict[str, Callable[[], Sequence[str]]] = {"estimate": known, "optimize": gallery.maneuvers}
        return tuple(of.get(command, gallery.studies)())
    return ()


# ---------------------------------------------------------------- shells


def _bash(commands: Sequence[Command]) -> str:
    every = " ".join(c.name for c in commands)
    lines = ["# bash completion for draisine", "_draisine() {"]
    lines += ['    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" command="${COMP_WORDS[1]}"']
    lines += ["    local options names files", "    COMPREPLY=()", '    if [ "$COMP_CWORD" -eq 1 ]; then']
    lines += [f'        COMPREPLY=($(compgen -W "{every} --help" -- "$cur"))', "        return", "    fi"]
    lines.append('    case "$command $prev" in')
    for c in commands:
        for o in c.options:
            if o.takes:
                lines.append(f'        "{c.name} {o.name}") {_bash_value(o)}; return ;;')
    lines += ["    esac", '    case "$command" in']
    for c in commands:
        options, names = " ".join(o.name for o in c.options), " ".join(c.names)
        lines.append(f'        {c.name}) options="{options}" names="{names}" files={int(c.files)} ;;')
    lines += ["    esac", '    case "$cur" in', '        -*) COMPREPLY=($(compgen -W "$options" -- "$cur")) ;;']
    lines += ['        *) COMPREPLY=($(compgen -W "$names" -- "$cur"))']
    lines += [
        '           [ "$files" = 1 ] && COMPREPLY+=($(compgen -f -X "!*.@(toml|txt|json)" -- "$cur") $(compgen -d -- "$cur")) ;;'
    ]
    return "\n".join(["shopt -s extglob", *lines, "    esac", "}", "complete -o filenames -F _draisine draisine"])


def _bash_value(option: Option) -> str:
    kinds = {"file": 'COMPREPLY=($(compgen -f -- "$cur"))', "folder": 'COMPREPLY=($(compgen -d -- "$cur"))', "word": ":"}
    return kinds.get(option.takes, f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$cur"))')


def _zsh(commands: Sequence[Command]) -> str:
    lines = ["#compdef draisine", "_draisine() {", "    local -a commands names", "    commands=("]
    lines += [f"        {_quoted(f'{c.name}:{_plain(c.description)}')}" for c in commands]
    lines += ["    )", "    if (( CURRENT == 2 )); then", "        _describe command commands", "        return", "    fi"]
    lines += ["    local command=$words[2]", "    shift words", "    (( CURRENT-- ))", "    case $command in"]
    for c in commands:
        lines.append(f"        {c.name})")
        lines.append(f"            names=({' '.join(c.names)})")
        given = [_zsh_option(o) for o in c.options]
        place = '\'1: :{ _alternative "names:name:($names)" "files:file:_files" }\'' if c.files else "'1: :($names)'"
        lines.append("            _arguments " + " ".join([*given, place]))
        lines.append("            ;;")
    return "\n".join(
        [
            *lines,
            "    esac",
            "}",
            'if [ "$funcstack[1]" = "_draisine" ]; then _draisine "$@"; else compdef _draisine draisine; fi',
        ]
    )


def _zsh_option(option: Option) -> str:
    kinds = {"": "", "word": ": :", "file": ":file:_files", "folder": ":folder:_files -/"}
    follows = kinds.get(option.takes, f": :({' '.join(option.choices)})")
    return _quoted(f"*{option.name}[{_plain(option.description)}]{follows}")


def _fish(commands: Sequence[Command]) -> str:
    lines = ["# fish completion for draisine", "complete -c draisine -f"]
    for c in commands:
        lines.append(f"complete -c draisine -n __fish_use_subcommand -a {c.name} -d {_quoted(_plain(c.description))}")
    for c in commands:
        here = f'complete -c draisine -n "__fish_seen_subcommand_from {c.name}"'
        for o in c.options:
            follows = {"": "", "word": " -x", "file": " -r -F", "folder": ' -x -a "(__fish_complete_directories)"'}
            value = follows.get(o.takes, f" -x -a {_quoted(' '.join(o.choices))}")
            lines.append(f"{here} -l {o.name.removeprefix('--')}{value} -d {_quoted(_plain(o.description))}")
        if c.names:
            lines.append(f"{here} -a {_quoted(' '.join(c.names))}")
        if c.files:
            lines.append(f"{here} -F")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"


def _plain(text: str) -> str:
    """Without what shells read in descriptions."""
    return re.sub(r"[\[\]:\\`$\"]", " ", text)
