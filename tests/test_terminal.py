"""Output of the command line: text, JSON, exit codes, and completion in shells."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from draisine.cli.completion import commands_of, script
from draisine.cli.main import main
from draisine.cli.model_options import ADAPTIVE, FIXED_STEP, SHELLS
from draisine.cli.parser import COMMANDS, action, parser
from draisine.cli.simulate import METHODS
from draisine.cli.terminal import EXIT_CODES, print_json, table
from draisine.gallery.registry import Study

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
WITHOUT_JSON = {"completion", "studio"}  # a script for shells, and a server


def tree() -> argparse._SubParsersAction:
    (found,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return found


# ---------------------------------------------------------------- the page


def test_the_page_lists_what_the_parser_knows():
    """Every command once, in the words of its help, with an example that the parser reads."""
    text = PAGE.read_text(encoding="utf-8")
    found = dict(re.findall(r"^### (\S+)\n\n(.*)\.\n\n```sh\n", text, flags=re.MULTILINE))
    description = {choice.dest: choice.help for choice in tree()._choices_actions}
    assert {name: words.lower() for name, words in found.items()} == {name: words.lower() for name, words in description.items()}
    assert sorted(re.findall(r"^### (\S+)", text, flags=re.MULTILINE)) == sorted(description)
    for name, example in re.findall(r"^### (\S+)\n.*?```sh\n(.*?)\n```", text, flags=re.MULTILINE | re.DOTALL):
        for line in example.replace("\\\n", " ").splitlines():
            program, *words = shlex.split(line.partition(" > ")[0], comments=True)
            given, _ = parser().parse_known_args(words)
            assert (program, given.command) == ("draisine", name)


def test_the_page_and_the_help_tell_the_exit_codes(capsys):
    rows = dict(re.findall(r"^\| (\d+) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert {int(code): words for code, words in rows.items()} == EXIT_CODES
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert all(f"{code} {words}" in said for code, words in EXIT_CODES.items())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_table_names_options_and_action_of_every_command(command):
    (found,) = (a for a in parser(command)._actions if isinstance(a, argparse._SubParsersAction))
    assert list(found.choices) == [command]
    assert callable(action(command))


def test_every_method_of_the_option_exists():
    assert (*ADAPTIVE, *FIXED_STEP) == tuple(METHODS)


# ---------------------------------------------------------------- machines


def test_every_command_has_json():
    without = {name for name, parser in tree().choices.items() if "--json" not in parser._option_string_actions}
    assert without == WITHOUT_JSON


SLEIGH = ("chaplygin_sleigh", "--speed", "2")


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("warm",),
        ("show", "damped_pendulum"),
        ("simulate", "damped_pendulum", "--until", "0.1"),
        ("certify", "damped_pendulum"),
        ("doctor", "damped_pendulum"),
        ("export", "damped_pendulum"),
        ("equations", "damped_pendulum"),
        ("equations", "damped_pendulum", "--out", "swing.html"),
        ("draw", "chaplygin_sleigh", "--out", "sleigh.svg"),
        ("modes", *SLEIGH[:1], "--over", "speed=0:2:5"),
        ("critical", *SLEIGH[:1], "--over", "speed=1:2:5"),
        ("steady", *SLEIGH),
        ("linearize", *SLEIGH),
        ("compare-drift", "simple_pendulum", "--until", "0.1"),
        ("run", "quick"),
    ],
    ids=lambda words: " ".join(words[:1] + words[2:]),
)
def test_json_alone_on_stdout(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("draisine.gallery.study", lambda name: lambda: Study(name, {}, findings=("it works",)))
    assert main([*words, "--json"]) == 0

    def refuse(what: str) -> None:
        raise AssertionError(f"{what} is no JSON")

    reported = json.loads(capsys.readouterr().out, parse_constant=refuse)
    for path in reported.get("written", []) if isinstance(reported, dict) else []:
        assert (tmp_path / path).exists()


def test_what_is_not_a_number_is_null(capsys):
    import numpy as np

    print_json({"a": np.array([1.0, np.nan]), "b": -np.inf, "c": np.float64(2.5), "d": np.int64(3), "e": Path("x")})
    assert json.loads(capsys.readouterr().out) == {"a": [1.0, None], "b": None, "c": 2.5, "d": 3, "e": "x"}


# ---------------------------------------------------------------- people


def draisine(*words: str, tty: bool, **environment: str) -> str:
    """Output of the program, on a terminal of its own or through a pipe."""
    command = [sys.executable, "-m", "draisine", *words]
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    around = {**kept, "TERM": "xterm-256color", "COLUMNS": "100", **environment}
    if not tty:
        return subprocess.run(command, env=around, capture_output=True, check=True, text=True).stdout
    import pty

    leader, follower = pty.openpty()
    with subprocess.Popen(command, env=around, stdout=follower, stderr=follower, stdin=follower) as process:
        os.close(follower)
        found = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            found += piece
        process.wait()
    os.close(leader)
    return found.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is needed")
def test_escapes_on_a_terminal_only():
    piped = draisine("list", tty=False, FORCE_COLOR="1")
    assert "\x1b" not in piped and re.search(r"^  bicycle +\S", piped, flags=re.MULTILINE)
    shown = draisine("list", tty=True)
    assert "\x1b[1m" in shown  # names in bold
    plain = draisine("list", tty=True, NO_COLOR="1")
    assert not re.search(r"\x1b\[(?:\d+;)*(?:3|4|9|10)\d(?:;\d+)*m", plain)


def test_brackets_in_names_are_no_markup(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    table(("", ""), [("force [N]", "[red]12[/red]")])
    assert "[red]12[/red]" in capsys.readouterr().out


# ---------------------------------------------------------------- exit codes


def test_exit_codes(capsys, monkeypatch):
    assert main(["show", "bycicle"]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert main(["steady", "atwood"]) == 1  # weights of 3 and 2 kg on one cable accelerate everywhere
    assert "no steady motion with nothing fixed was found" in capsys.readouterr().err
    assert (
        main(["simulate", "bicycle", "--speed", "0", "--lean", "0.1", "--until", "9", "--tolerance", "1e-5"]) == 0
    )  # a fall is reported
    with pytest.raises(SystemExit) as wrong:
        main(["simulate"])
    assert wrong.value.code == 2

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("draisine.gallery.models", interrupted)
    assert main(["list"]) == 130
    assert "interrupted" in capsys.readouterr().err


# ---------------------------------------------------------------- shells

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_draisine
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def bash(tmp_path_factory):
    program = shutil.which("bash")
    if program is None:
        pytest.skip("there is no bash")
    path = tmp_path_factory.mktemp("shell") / "draisine.bash"
    path.write_text(script("bash"))

    def complete(*words: str, cwd: Path | None = None) -> set[str]:
        command = [program, "--norc", "-c", ASK, "bash", str(path), "draisine", *words]
        return set(subprocess.run(command, capture_output=True, check=True, text=True, cwd=cwd).stdout.split())

    return complete


def test_bash_completes(bash, tmp_path):
    assert bash("com") == {"compare-drift", "completion"}
    assert bash("simulate", "rolling_d") == {"rolling_disk"}
    assert bash("simulate", "bicycle", "--met") == {"--method"}
    assert bash("simulate", "bicycle", "--method", "r") == {"radau", "rk4"}
    assert bash("run", "bicycle_fr") == {"bicycle_free_run"}
    assert bash("optimize", "swing") == {"swing_ups"}
    assert bash("estimate", "swing") == {"swing_logger"}
    assert bash("completion", "") == set(SHELLS)
    (tmp_path / "my_model.toml").touch()
    (tmp_path / "my_notes.pdf").touch()
    assert bash("show", "my_", cwd=tmp_path) == {"my_model.toml"}
    assert bash("simulate", "bicycle", "--out", "my_", cwd=tmp_path) == {"my_model.toml", "my_notes.pdf"}


def test_bash_knows_every_option_of_every_command(bash):
    assert bash("") == set(tree().choices)
    assert bash("--") == {"--help", "--version"}
    for command, options in commands_of(parser()).items():
        assert bash(command, "--") == {name for name in options._option_string_actions if name.startswith("--")}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_scripts(shell, tmp_path):
    text = script(shell)
    assert all(name in text for name in tree().choices) and "chaplygin_sleigh" in text
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    path = tmp_path / "script"
    path.write_text(text)
    assert subprocess.run([program, "-n", str(path)], capture_output=True, check=False).returncode == 0
