"""Whatever a model file holds, it is read and derived, or refused by a `ModelError`: files of `tools/fuzz.py`, large ones."""

from __future__ import annotations

import time

import pytest
from tools import fuzz

import draisine as dr
from draisine.dynamics.derive import derive
from draisine.errors import ModelError
from draisine.model.files import from_toml, to_toml
from draisine.results.control_characters import MAX_MESSAGE

KNOWN = ("refused", "read", "derived", "run")
SMALL = ("chaplygin_sleigh", "four_bar", "unicycle", "rolling_disk")


@pytest.mark.filterwarnings("ignore")
def test_a_file_is_read_or_refused():
    names = sorted(fuzz.files())
    fates = {f"{name}:{seed}": fuzz.fate(name, seed) for seed, name in enumerate(names * 8, start=1) if not fuzz.is_scaled(seed)}
    assert {one: fate for one, fate in fates.items() if fate not in KNOWN} == {}
    assert {"refused", "read"} <= set(fates.values())


@pytest.mark.filterwarnings("ignore")
def test_what_is_read_is_derived_or_refused():
    """Numbers of other magnitudes, which are valid for a reader."""
    fates = {f"{name}:{seed}": fuzz.fate(name, seed) for seed in range(0, 100, 5) for name in SMALL}
    assert {one: fate for one, fate in fates.items() if fate not in KNOWN} == {}
    assert {"derived", "run"} <= set(fates.values())


BLOCK = 'name="b"\n[bodies.b]\nmass=1\ninertia=[1,1,1]\n[joints.j]\nkind="free"\nchild="b"\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (BLOCK + '[points."-1e99e"]\nbody="b"\nat=[0,0,1]\n', "not a valid name"),
        (BLOCK + "[surface_parameters.u]\nspan=[-0.97]\n", "needs two numbers"),
        (BLOCK + "[surface_parameters.u]\nspan=[0, inf]\n", "must increase and be finite"),
        (BLOCK.replace("mass=1\n", f"mass=1{'0' * 400}\n"), "expected a number"),
        (to_toml(dr.gallery.model("chaplygin_sleigh")).replace('unit = "m"', 'unit = "/m"', 1), "not a unit"),
    ],
)
def test_values_that_are_none(text, complaint):
    with pytest.raises(ModelError, match=complaint) as refused:
        from_toml(text, "hostile.toml")
    assert fuzz.WHERE.match(str(refused.value))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("inertia = { xx = 12, yy = 30, zz = 24, zx = -2.5 }", "inertia = [[12, 30, 24]]", "give .xx, yy, zz. or a table"),
        ('axis = "x"\nstiffness', 'axis = "x"\nname = "x"\nstiffness', "has no option 'name'"),
    ],
)
def test_options_of_parts_that_are_none(old, new, complaint):
    text = to_toml(dr.gallery.model("motorcycle"))
    assert old in text
    with pytest.raises(ModelError, match=complaint) as refused:
        from_toml(text.replace(old, new, 1), "hostile.toml")
    assert fuzz.WHERE.match(str(refused.value))


def test_tables_of_parts_that_are_numbers():
    text = to_toml(dr.gallery.model("motorcycle"))
    points = next(line for line in text.splitlines() if line.startswith("points = "))
    with pytest.raises(ModelError, match="points of part 'frame': give a table"):
        from_toml(text.replace(points, "points = 3.5"), "hostile.toml")


def test_a_car_with_tiny_wheels_is_refused():
    text = to_toml(dr.gallery.model("car"))
    assert "wheel_radius = { value = 0.3," in text
    with pytest.raises(ModelError, match="depend on each other"):
        derive(from_toml(text.replace("wheel_radius = { value = 0.3,", "wheel_radius = { value = 3e-7,")))


def test_a_measure_that_does_not_exist_is_named():
    with pytest.raises(ModelError, match="did you mean 'heading'"):
        derive(from_toml(BLOCK + '[outputs]\no = "heding(b)"\n'))


SIZE = 900_000


def many(line: str) -> str:
    return "".join(line.format(k=k) for k in range(SIZE // len(line)))


LARGE = {
    "dotted key": ".".join(["a"] * (SIZE // 2)) + "=1\n",
    "quoted dotted key": ".".join(['""'] * (SIZE // 3)) + "=1\n",
    "dotted header": "[" + ".".join(["a"] * (SIZE // 2)) + "]\n",
    "brackets": "name=" + "[" * SIZE,
    "inline tables": "name=" + "{a=" * (SIZE // 3),
    "parameters": BLOCK + "[parameters]\np0=1\n" + many('q{k}="p0*{k}"\n'),
    "bodies": 'name="b"\n' + many('[bodies.b{k}]\nmass=1\n[joints.j{k}]\nkind="free"\nchild="b{k}"\n'),
    "long expression": BLOCK + '[outputs]\no="' + "-" * SIZE + '1"\n',
    "deep expression": BLOCK + '[outputs]\no="' + "(" * SIZE + '"\n',
    "long name": BLOCK.replace("bodies.b]", "bodies." + "b" * SIZE + "]"),
    "long key": BLOCK + "x" * SIZE + "=1\n",
    "many keys": BLOCK + many("x{k}=1\n"),
    "same keys": "x" * SIZE + "=1\n" + "x" * 99_000 + "=1\n",
    "letters": "a" * SIZE,
    "quotes": BLOCK + "\"'" * (SIZE // 2),
    "digits": BLOCK + '[parameters]\np="1' + "0" * SIZE + ' m"\n',
    "wheels": BLOCK + many('[wheels.w{k}]\nbody="b"\nradius=0.3\n'),
}


@pytest.mark.parametrize("what", LARGE)
def test_no_file_takes_long_and_no_message_fills_the_screen(what):
    began = time.process_time()
    with pytest.raises(ModelError) as refused:
        from_toml(LARGE[what], "large.toml")
    assert time.process_time() - began < fuzz.PATIENCE
    assert len(str(refused.value)) < MAX_MESSAGE + 300


def test_limits_can_be_raised(tmp_path):
    bodies = "".join(f'[bodies.b{k}]\nmass=1\ninertia=[1,1,1]\n[joints.j{k}]\nkind="free"\nchild="b{k}"\n' for k in range(3))
    path = tmp_path / "three.toml"
    path.write_text(f'name = "three"\n{bodies}')
    with pytest.raises(
        ModelError, match=r"three\.toml, line 2: 3 bodies are more than 2; raise the limit: read_model\(path, bodies=3\)"
    ):
        dr.read_model(path, bodies=2)
    with pytest.raises(ModelError, match=r"3 joints are more than 2; raise the limit: read_model\(path, items=3\)"):
        dr.read_model(path, items=2)
    with pytest.raises(ModelError, match="a key of more than 1 parts; write tables, or raise the limit `depth`"):
        dr.read_model(path, depth=1)
    assert len(dr.read_model(path, bodies=3).freeze().bodies) == 3


def test_outputs_of_outputs_take_the_time_of_their_number():
    """Each is made of the one before, twice: written out, the last would have 2⁴⁰ terms."""
    chain = "".join(f'o{k} = "(o{k - 1} + o{k - 1})/2"\n' for k in range(1, 41))
    body = '[bodies.b]\nmass=1\ninertia=[1,1,1]\n[joints.x]\nkind="prismatic"\nparent="ground"\nchild="b"\naxis="x"\n'
    text = f'name = "mean"\n{body}[outputs]\no0="x"\n{chain}'
    began = time.process_time()
    run = dr.simulate(from_toml(text, "mean.toml"), 1.0, start={"x": 0.25, "x_rate": 1.0})
    assert run["o40"][-1] == pytest.approx(1.25, abs=1e-12)
    assert time.process_time() - began < fuzz.PATIENCE
