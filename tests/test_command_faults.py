"""Command lines that say something twice, or nonsense: each gets an answer, and nothing is taken silently."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from draisine.cli.main import main
from draisine.cli.parser import COMMANDS, parser

TWICE = [
    ("simulate rolling_disk --until 1 --until 2", "--until is given twice"),
    ("simulate rolling_disk --speed 1 --speed 2", "--speed is given twice"),
    ("simulate rolling_disk --set m=1 --set m=2", "--set m is given twice"),
    ("simulate rolling_disk --method rk4 --method rk4", "--method is given twice"),
    ("ensemble rolling_disk --over speed=1:2:3 --over speed=1,2", "--over speed is given twice"),
    ("ensemble rolling_disk --runs 3 --sample speed=normal(0,1) --sample speed=uniform(0,1)", "--sample speed is given twice"),
    ("map bicycle --over speed=1:2:3 --over speed=1:2:3", "--over speed is given twice"),
    ("modes bicycle --speed 5 --at speed=6 --over trail=0.05:0.1:3", "speed is given twice, also by --at speed"),
    ("steady bicycle --lean 0.1 --set lean=0.2 --speed 5", "lean is given twice, also by --set lean"),
    ("lqr bicycle --speed 2 --at speed=3 --weight lean=10 --input-weight steer_torque=0.1", "speed is given twice, also by --at"),
    ("certify rolling_disk --names a=b --names a=c", "--names a is given twice"),
]
SWEEPS = [
    ("ensemble rolling_disk --over speed=3:8:0", "0 values; give between 1 and"),
    ("ensemble rolling_disk --over speed=3:8:-2", "-2 values; give between 1 and"),
    ("ensemble rolling_disk --over speed=3:8:1000000000000", "1000000000000 values; give between 1 and"),
    ("ensemble rolling_disk --over speed=3:inf:3", "the ends of a sweep are finite numbers"),
    ("modes bicycle --over speed=3:8:0", "0 values; give between 2 and"),
    ("modes bicycle --over speed=3:8:1e3", "'speed=3:8:1e3': write NAME=FROM:TO:COUNT"),
    ("modes bicycle --over speed=3:8:1", "1 values; give between 2 and"),
    ("modes bicycle --over speed=3:8:5:7", "write NAME=FROM:TO:COUNT"),
    ("modes bicycle --over speed=3:8:2.5", "write NAME=FROM:TO:COUNT"),
    ("modes bicycle --over speed=:8:3", "write NAME=FROM:TO:COUNT"),
    ("modes bicycle --over speed", "write NAME=FROM:TO:COUNT"),
    ("modes bicycle --over speed=nan:8:3", "the ends of a sweep are finite numbers"),
    ("modes bicycle --over speed=3deg:8deg:5", "got '3deg' (angle or plain number), expected a velocity"),
    ("modes bicycle --over speed=3:8:5kg", "got '3 kg' (mass), expected a velocity"),
    ("modes bicycle --over speed=3:8:5furlong", "'furlong' is not a unit"),
    ("ensemble rolling_disk --over speed=3,4,5kg", "got '3 kg' (mass), expected a velocity"),
    ("ensemble rolling_disk --runs 3 --sample speed=normal(3,1kg)", "got '3 kg' (mass), expected a velocity"),
    ("turns bicycle --speed 0:10kg", "got '0 kg' (mass), expected a velocity"),
    ("modes bicycle --over speed=1:2:3 --at speed=5", "'speed' is swept and has a given value"),
    ("modes bicycle --over trail=0.1:0.2:3 --set trail=0.05 --at speed=5", "'trail' is swept and has a given value"),
    ("map bicycle --over speed=1:2:3 --over trail=0.1:0.2:3 --at speed=nan", "'speed' is swept and has a given value"),
    ("simulate rolling_disk --step 0.1", "--step: auto chooses its steps; --tolerance sets them"),
    ("simulate rolling_disk --method rk4 --tolerance 1e-5", "--tolerance: rk4 has a fixed step; --step sets it"),
    ("turns bicycle --plot turns.gif", "'turns.gif' is not the file of a figure"),
    ("export rolling_disk --lang c --speed 3", "start= is of a functional mock-up unit"),
    ("export rolling_disk --lang c,octave --sped 3", "take the state as an argument"),
    ("ensemble rolling_disk --over speed=1:2:2 --threads -1", "threads is the number of cores to use"),
    ("ensemble rolling_disk --over speed=1:2:2 --threads 0", "threads is the number of cores to use"),
    (
        "atlas bicycle --over lean=0:0.8:3 --over speed=1:10:3 --friction -1",
        "--friction -1: a coefficient of friction is a positive",
    ),
    (
        "atlas bicycle --over lean=0:0.8:3 --over speed=1:10:3 --friction nan",
        "--friction nan: a coefficient of friction is a positive",
    ),
]

SHORTENED = [
    ("ensemble rolling_disk --over speed=1:2:2 --th 2", "is called 'th'"),
    ("ensemble rolling_disk --over speed=1:2:2 --th 2", "if --threads is meant, write it in full"),
    ("simulate rolling_disk --unt 2", "if --until is meant, write it in full"),
    ("simulate rolling_disk --unt=2", "if --until is meant, write it in full"),
    ("modes bicycle --ove speed=1:2:3", "if --over is meant, write it in full"),
    ("show bicycle --jso", "unrecognized arguments: --jso"),
]


@pytest.mark.parametrize(("line", "answer"), TWICE + SWEEPS + SHORTENED)
def test_each_gets_an_answer(line, answer, capsys):
    try:
        code = main(line.split())
    except SystemExit as end:  # by argparse
        code = end.code
    assert code == 2
    assert answer in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_has_short_forms(command):
    """A shortened option may be the name of a coordinate: only whole options are options."""
    (commands,) = (a for a in parser(command)._actions if a.dest == "command")
    assert not commands.choices[command].allow_abbrev and not parser(command).allow_abbrev


def test_an_initial_condition_that_begins_like_an_option(tmp_path, capsys):
    """`--th 2` starts a pendulum with angle th at 2 rad; it is no number of threads."""
    path = tmp_path / "pendulum.toml"
    path.write_text(PENDULUM, encoding="utf-8")
    assert main(["ensemble", str(path), "--over", "m=1,2", "--until", "0.1", "--outputs", "th", "--th", "2", "--json"]) == 0
    held = json.loads(capsys.readouterr().out)["statistics"]["th.end"]
    assert 1.9 < held["mean"] < 2.1


PENDULUM = """
draisine = 1
name = "pendulum"
gravity = 9.81

[parameters]
m = { value = 1, unit = "kg" }

[bodies.bob]
mass = "m"
center_of_mass = [0, 0, -1]
inertia = { xx = 0.01, yy = 0.02, zz = 0.03 }

[joints.th]
kind = "revolute"
parent = "ground"
child = "bob"
axis = "y"
"""

HUGE = "1" + "0" * 400
COUNTS = [
    f"simulate rolling_disk --until {HUGE}",
    f"simulate rolling_disk --speed {HUGE}",
    f"simulate rolling_disk --set gravity={HUGE}",
    f"simulate rolling_disk --samples {HUGE}",
    "simulate rolling_disk --samples 1000000000000",
    f"simulate rolling_disk --tolerance {HUGE}",
    f"simulate rolling_disk --method rk4 --step {HUGE}",
    f"simulate bicycle --input steer_torque={HUGE}",
    "ensemble rolling_disk --sample speed=normal(1,0.1) --runs 1000000000000",
    f"ensemble rolling_disk --sample speed=normal(1,0.1) --runs {HUGE}",
    f"ensemble rolling_disk --sample speed=normal({HUGE},0.1) --runs 2",
    f"ensemble rolling_disk --over speed={HUGE}:1:3",
    f"ensemble rolling_disk --over speed=1:2:{HUGE}",
    f"ensemble rolling_disk --over speed=1,{HUGE}",
    "ensemble rolling_disk --over speed=1:2:10000000 --over mass=1:2:10000000",
    f"ensemble rolling_disk --over speed=1:2:3 --seed {HUGE}",
    "ensemble rolling_disk --over speed=1:2:3 --threads 1000000000000",
    f"modes bicycle --over speed=1:{HUGE}:3",
    f"steady bicycle --speed {HUGE}",
    f"linearize bicycle --speed {HUGE}",
    f"continue bicycle --over speed=0:{HUGE}",
    f"turns bicycle --speed 0:{HUGE}",
    "certify rolling_disk --states 1000000000000",
    f"certify rolling_disk --states {HUGE}",
    f"atlas bicycle --over lean=0:0.8:3 --over speed=1:10:3 --friction {HUGE}",
    "map bicycle --over speed=0:10:1000000 --over trail=0:0.2:1000000",
    "atlas bicycle --over lean=0:0.8:100000 --over speed=1:10:100000",
    f"show {'a' * 100_000}",
]


@pytest.mark.parametrize("line", COUNTS, ids=lambda line: line.replace(HUGE, "10^400")[:80])
def test_numbers_that_no_computer_holds_are_refused_at_once(line, capsys):
    began = time.process_time()
    try:
        code = main(line.split())
    except SystemExit as end:
        code = end.code
    shown = capsys.readouterr().err
    assert code == 2 and shown.startswith(("draisine: ", "usage: ")) and len(shown) < 1500
    assert time.process_time() - began < 30.0  # to count as far would take hours


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("modes bicycle --over speed=18:36km/h:3", "modes bicycle --over speed=5:10:3"),
        ("modes bicycle --over speed=18:36:3km/h", "modes bicycle --over speed=5:10:3"),
        ("modes bicycle --over speed=18km/h:10:3", "modes bicycle --over speed=5:10:3"),
        ("modes bicycle --over trail=5cm:80mm:3 --speed 5", "modes bicycle --over trail=0.05:0.08:3 --speed 5"),
        ("critical bicycle --over speed=18:36km/h:11", "critical bicycle --over speed=5:10:11"),
        (
            "map bicycle --over speed=18:36km/h:3 --over trail=5:8cm:3",
            "map bicycle --over speed=5:10:3 --over trail=0.05:0.08:3",
        ),
        ("ensemble rolling_disk --over speed=3.6,7.2km/h --until 0.1", "ensemble rolling_disk --over speed=1,2 --until 0.1"),
        (
            "ensemble rolling_disk --runs 3 --sample speed=uniform(3.6,7.2km/h) --until 0.1",
            "ensemble rolling_disk --runs 3 --sample speed=uniform(1,2) --until 0.1",
        ),
    ],
)
def test_units_of_sweeps_are_converted(line, same, capsys):
    """A unit may be written at each end, or once for both."""
    shown = []
    for words in (line, same):
        assert main([*words.split(), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        shown.append({k: v for k, v in found.items() if k != "seconds"} if isinstance(found, dict) else found)
    assert numbers(shown[0]) == pytest.approx(numbers(shown[1]), rel=1e-9, abs=1e-12)
    assert numbers(shown[0])


def numbers(data):
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list):
        return [number for item in data for number in numbers(item)]
    return [float(data)] if isinstance(data, int | float) else []


def test_options_that_repeat_still_do(capsys):
    assert main(["simulate", "rolling_disk", "--until", "0.1", "--set", "gravity=9.8", "--set", "mass=2"]) in (0, 2)
    assert "twice" not in capsys.readouterr().err


def test_a_closed_stdout_is_no_error():
    done = subprocess.run(
        [sys.executable, "-m", "draisine", "list"], stderr=subprocess.PIPE, preexec_fn=lambda: os.close(1), check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interruption_while_the_program_is_loaded_leaves_no_traceback(tmp_path):
    """The module of the command line is replaced by one that is interrupted while it is imported."""
    code = (
        "import os, signal, sys, runpy\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'draisine.cli.main': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv = ['draisine', 'list']\n"
        "runpy.run_module('draisine', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (130, "interrupted\n", "")


INTERRUPTED = (
    "import os, signal, sys, runpy\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "class Finder:\n"
    "    def find_spec(self, name, *rest):\n"
    "        if name == {module!r}: exec('os.kill(os.getpid(), signal.SIGINT)')\n"
    "sys.meta_path.insert(0, Finder())\n"
)


def ended(code, module):
    """An interruption inside `exec`, after which Python would end by the signal, while a module is imported."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(module=module) + code], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", ["-m", "/usr/bin/draisine"])
@pytest.mark.parametrize("module", ["lazy_loader", "draisine.cli.parser", "draisine.cli.model_options", "draisine.cli.gallery"])
def test_a_command_is_interrupted_from_its_first_moment_on(command, module):
    line = f"sys.argv, sys.orig_argv = [{command!r}, 'list'], ['python', '-m', 'draisine', 'list']\n"
    run = line + "from draisine.__main__ import run\nsys.exit(run())\n"
    assert ended(run, module) == (130, "interrupted\n")


def test_an_interruption_that_a_compiled_module_replaces_is_one():
    """NumPy raises an ImportError where the interruption comes while it is imported."""
    code = (
        "import os, signal, sys, runpy\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in processes that a shell starts behind itself
        "class Finder:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == {module!r}:\n"
        "            try: os.kill(os.getpid(), signal.SIGINT)\n"
        "            except KeyboardInterrupt: raise ImportError('importing the C-extensions failed') from None\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv, sys.orig_argv = ['-m', 'show', 'bicycle'], ['python', '-m', 'draisine', 'show', 'bicycle']\n"
        "runpy.run_module('draisine', run_name='__main__')\n"
    )
    for module in ("draisine.cli.parser", "numpy"):
        done = subprocess.run(
            [sys.executable, "-c", code.format(module=module)], capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.returncode, done.stderr) == (130, "interrupted\n"), module


@pytest.mark.parametrize("words", [["list"], ["--version"]])
def test_an_interruption_while_python_ends_leaves_no_traceback(words):
    code = (
        "import atexit, os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.argv = ['draisine', *{words!r}]\n"
        "from draisine.__main__ import run\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "sys.exit(run())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize("line", ["export damped_pendulum --lang c,fmu --out .", "equations damped_pendulum --out doc.html"])
def test_what_cannot_be_written_leaves_nothing_behind(line, tmp_path):
    """A file that is cut off by a full disk would look like one that is complete."""
    resource = pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-m", "draisine", *line.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # Python stores modules without noticing that they are cut off
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert done.returncode == 2 and "cannot write '" in done.stderr and "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device is one of Linux")
def test_output_that_cannot_be_written_is_an_error_with_its_reason():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "draisine", "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (2, "draisine: the output cannot be written: No space left on device\n")


def test_an_interruption_of_an_import_belongs_to_the_program_that_imports():
    code, said = ended(
        "sys.argv = ['script.py']\ntry:\n    import draisine\nexcept KeyboardInterrupt:\n    print('mine')\n", "lazy_loader"
    )
    assert (code, said) != (130, "interrupted\n")
    assert "Traceback" not in said


def test_a_reader_that_closes_the_pipe_is_no_error():
    lister = subprocess.Popen([sys.executable, "-m", "draisine", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert lister.stdout is not None and lister.stderr is not None
    lister.stdout.close()  # before anything is written
    assert (lister.stderr.read(), lister.wait(60)) == (b"", 0)
    lister.stderr.close()


@pytest.mark.parametrize("control", ["Sampled(lambda *_: sys.exit(3), 100)", "EveryStage(lambda *_: sys.exit(3))"])
def test_sys_exit_in_a_control_ends_the_program_with_its_status(control):
    """It is no error of the control, and no run that FINISHED."""
    code = (
        "import sys, draisine as dr\n"
        f"dr.simulate(dr.gallery.bicycle(), 1.0, start={{'speed': 5.0}}, control=dr.control.{control})\n"
        "print('went on')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_a_command_ends_after_all_that_others_do_at_the_end():
    code = (
        "import atexit, runpy, sys\n"
        "sys.argv = ['draisine', 'show', {model!r}]\n"
        "from draisine.__main__ import run\n"
        "atexit.register(print, 'at the end')\n"
        "class Left:\n"
        "    def __del__(self): print('taken apart')\n"
        "left = Left()\n"
        "sys.exit(run())\n"
    )
    done = [
        subprocess.run([sys.executable, "-c", code.format(model=model)], capture_output=True, text=True, check=False)
        for model in ("bicycle", "no_such_model")
    ]
    assert [one.returncode for one in done] == [0, 2]
    assert all(one.stdout.endswith("at the end\n") for one in done)  # and modules are not taken apart
    assert "bicycle" in done[0].stdout and "no_such_model" in done[1].stderr


def test_a_program_that_calls_the_command_line_ends_by_itself():
    code = "import sys\nsys.argv = ['script.py', 'list']\nfrom draisine.__main__ import run\nrun()\nsys.exit(7)\n"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 7
