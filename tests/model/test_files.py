"""Model files: complete round trips, readable text, and complaints that name file, item and cure."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from draisine import gallery
from draisine.dynamics.derive import _derive, _mechanism, derive
from draisine.errors import ArgumentError, ModelError
from draisine.expr.expression import Name, Number
from draisine.expr.tables import Table
from draisine.gallery.entries.bicycle import bicycle
from draisine.model.files import from_toml, read_model, to_toml, write_model
from draisine.model.items import Ball, Coordinate, Float, Joint, Rotate, Translate
from draisine.model.model import Model
from draisine.model.toml_files import MAX_BYTES, inline, lines
from draisine.results.control_characters import one_line


def everything() -> Model:
    """One of each."""
    m = Model("everything", 'a "quoted" word,\na second line')
    length = m.parameter("length", 1.02, "m", "wheelbase — ω²")
    tilt = m.parameter("tilt", "18 deg", "rad")
    torque = m.input("torque", "N*m", "of the rider")
    m.table("grip", [0, 1, 2], [0, 2.5, 3])
    m.table("surface", [[0, 1], [0, 1, 2]], [[1, 2, 3], [4, 5, 6]], "linear")
    m.gravity("9.80665 m/s^2")
    m.ground(slope="tilt", bank=0.1)
    frame = m.body("frame", "85 kg", (0.3, 0, "length/2"), {"xx": 9.2, "yy": 11, "zz": 2.8, "zx": 2.4}, "rear frame")
    parts = [m.body(f"part{i}", 1.0 + i, inertia=(1, 1, 1)) for i in range(13)]
    m.point("hub", frame, (0.1, 0, 0))
    m.free(frame)
    m.revolute("steer", frame, parts[0], axis="z", at=(length, 0, 0), orientation=[("y", tilt)], rate="steer_speed", default=0.1)
    m.revolute("spin", parts[0], parts[1], axis="y", span=(-3, 3))
    m.prismatic("slide", parts[0], parts[2], "y", rate="sliding", span=(0, 1))
    m.cylindrical("tube", parts[0], parts[3], "y", at=(0, 1, 0))
    m.screw("bolt", parts[0], parts[4], lead="5 mm", axis="x", orientation=[("z", 0.5)])
    m.universal("cardan", parts[0], parts[5], "zx")
    m.spherical("ball", parts[0], parts[6], at=(1, 2, 3), orientation=[("x", "90 deg"), ("z", -tilt)])
    m.fixed("weld", parts[0], parts[7], orientation=[("x", tilt)])
    m.free_euler(parts[8], "zyx", angles=["yaw", "pitch", "roll"])
    m.free_euler(parts[9])
    m.planar(parts[10])
    m.planar(parts[11], parent=frame, name="tray")
    chain = [Rotate("x", Name("turn1") * 2), Translate((Name("slide2"), Number(0.0), length))]
    m.joint(
        "odd", frame, parts[12], chain, [Coordinate("turn1", "turn1_rate", "rad", 0.5, -2, 2), Coordinate("slide2", "v2", "m")]
    )
    m.wheel("rear", parts[1], "0.3 m", "20 mm")
    m.knife_edge(parts[10], (-0.3, 0, 0))
    m.knife_edge(frame, along="y", name="blade", on_ground=True)
    m.generalized_force("steer", torque - 2 * Name("steer_speed"))
    m.generalized_force("steer", "grip(steer) + surface(t, steer)")
    m.spring("distance(hub, part1)", "100", length, damping=3)
    m.wrench("hub", ("torque/length", 0, "-lean(frame)"), axes="body")
    m.wrench("hub", torque=(0, 0, 1))
    m.potential("well", "0.9*length*slide^2")
    m.output("speed", "velocity_x(hub)", "m/s", "forward")
    m.output("twice", "2*speed")
    m.output("seven", 7)
    m.event("fell", "abs(lean(frame)) - 80*pi/180", direction=1, description="lean passed 80°")
    m.event("still", "speed", "record", -1)
    m.independent("steer_speed", "spin_rate")
    return m


# -------------------------------------------------------------------- round trips


def test_everything_reads_back_the_same(tmp_path: Path) -> None:
    system = everything().freeze()
    write_model(system, tmp_path / "model.toml")
    again = read_model(tmp_path / "model.toml")
    assert again.freeze() == system
    assert to_toml(again) == to_toml(system) == (tmp_path / "model.toml").read_text(encoding="utf-8")


def test_the_bicycle_reads_back_with_the_same_equations() -> None:
    original = bicycle()
    again = from_toml(to_toml(original))
    assert again.freeze() == original.freeze()
    # Derived from the file in another process or after the cache is gone, the programs are the same to the last instruction.
    derived = derive(original)
    _derive.cache_clear()
    _mechanism.cache_clear()
    afresh = derive(again)
    assert afresh is not derived
    for program in ("dynamics", "report", "motion"):
        assert getattr(afresh, program).digest == getattr(derived, program).digest


def test_named_kinds_are_written_by_name() -> None:
    tables = tomllib.loads(to_toml(everything()))["joints"]
    kinds = {name: table.get("kind", "chain") for name, table in tables.items()}
    assert kinds == {
        "frame_motion": "free",
        "steer": "revolute",
        "spin": "revolute",
        "slide": "prismatic",
        "tube": "cylindrical",
        "bolt": "screw",
        "cardan": "universal",
        "ball": "spherical",
        "weld": "fixed",
        "part8_motion": "free_euler",
        "part9_motion": "free_euler",
        "part10_motion": "planar",
        "tray": "planar",
        "odd": "chain",
    }
    assert tables["steer"] == {
        "kind": "revolute",
        "parent": "frame",
        "child": "part0",
        "at": ["length", 0, 0],
        "orientation": [{"y": "tilt"}],
        "axis": "z",
        "rate": "steer_speed",
        "default": 0.1,
    }
    assert tables["bolt"]["lead"] == 0.005


@pytest.mark.parametrize(
    ("chain", "coordinates"),
    [
        ((Ball(("a", "b", "c", "d"), ("e", "f", "g")),), "abcd"),
        ((Float(("a", "b", "c"), ("d", "e", "f", "g"), ("h", "i", "j"), ("k", "l", "m")),), "abcdefg"),
        ((Rotate("x", Number(0.25)), Ball(("a", "b", "c", "d"), ("e", "f", "g")), Translate((Number(1.0),) * 3)), "abcd"),
        ((Translate((Number(1.0),) * 3), Rotate("z", Number(0.5)), Translate((Number(2.0),) * 3)), ""),
        ((), ""),
    ],
)
def test_unnamed_chains_are_written_out(chain: tuple[object, ...], coordinates: str) -> None:
    m = Model("odd")
    m.body("box", 1.0)
    m.joint("motion", "ground", "box", chain, [Coordinate(name, "", "", 0.5) for name in coordinates])  # type: ignore[arg-type]
    assert from_toml(to_toml(m)).freeze() == m.freeze()


def test_a_free_body_keeps_where_it_starts() -> None:
    m = Model("lifted")
    m.free(m.body("box", 1.0), at=(0, "20 cm", 1.5))
    joint = m.freeze().joints[0]
    assert [c.default for c in joint.coordinates] == [0.0, 0.2, 1.5, 1.0, 0.0, 0.0, 0.0]
    assert tomllib.loads(to_toml(m))["joints"]["box_motion"] == {"kind": "free", "child": "box", "at": [0, 0.2, 1.5]}
    assert from_toml(to_toml(m)).freeze() == m.freeze()
    m.parameter("height", 1.0, "m")
    m.body("other", 1.0)
    with pytest.raises(ModelError, match="position of free body 'other': it must be three numbers, got"):
        m.free("other", at=(0, 0, "height"))


def test_tables_keep_how_they_go_on_outside() -> None:
    m = everything()
    m._add("tables", Table("stop", [0.1, 0.2], [1 / 3, 2 / 3], "linear", "hold"))
    assert from_toml(to_toml(m)).freeze().tables[-1] == m.freeze().tables[-1]


numbers = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e6, max_value=1e6)
# others are refused: test_control_characters.py
texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Cf"], include_characters="\n\t"), max_size=20)


@given(numbers, numbers, texts, st.sampled_from("xyz"), st.sampled_from(["revolute", "prismatic", "cylindrical"]))
@example(-0.0, 0.0, "", "x", "revolute")
@settings(max_examples=50)
def test_any_numbers_and_words_survive(value: float, place: float, description: str, axis: str, kind: str) -> None:
    m = Model("block", description)
    m.parameter("p", value, "m", description)
    m.body("block", mass=abs(value) + 1, center_of_mass=(place, "p", 0), description=description)
    getattr(m, kind)("hinge", "ground", "block", axis, (place, 0, "-p/3"), [("x", value)])
    m.output("o", Number(value) * Name("p") - place, "", description)
    again = from_toml(to_toml(m)).freeze()
    assert again == m.freeze()
    assert again.description == description
    assert again.parameters[0].description == one_line(description)
    assert math.copysign(1.0, again.parameters[0].default) == math.copysign(1.0, value)


def test_text_is_laid_out_for_people() -> None:
    m = Model("pendulum", "a bob on a rod")
    length = m.parameter("length", 2.0, "m", "pivot to bob")
    m.body("bob", mass=1.5, center_of_mass=(0, 0, -length))
    m.revolute("swing", "ground", "bob", axis="y", default=0.5)
    m.output("height", "position_z(bob)", "m")
    assert to_toml(m) == (
        "draisine = 1\n"
        'name = "pendulum"\n'
        'description = "a bob on a rod"\n'
        "gravity = 9.81\n"
        "\n"
        "[parameters]\n"
        'length = { value = 2, unit = "m", description = "pivot to bob" }\n'
        "\n"
        "[bodies.bob]\n"
        "mass = 1.5\n"
        'center_of_mass = [0, 0, "-length"]\n'
        "\n"
        "[joints.swing]\n"
        'kind = "revolute"\n'
        'parent = "ground"\n'
        'child = "bob"\n'
        'axis = "y"\n'
        "default = 0.5\n"
        "\n"
        "[outputs]\n"
        'height = { expression = "position_z(bob)", unit = "m" }\n'
    )


def test_long_lists_are_wrapped_and_read_back() -> None:
    values = [i / 7 for i in range(100)]
    written = lines("values", values)
    assert max(map(len, written)) <= 115
    assert tomllib.loads("\n".join(written)) == {"values": values}
    table = {f"key{i}": "a" * 40 for i in range(5)}
    written = lines("long", table)
    assert written[0] == f'long.key0 = "{"a" * 40}"'
    assert tomllib.loads("\n".join(written)) == {"long": table}
    with pytest.raises(TypeError, match="None cannot be written to a model file"):
        inline(None)


# -------------------------------------------------------------------- what a person may write

PENDULUM = """
name = "pendulum"
[parameters]
length = "200 cm"
[bodies.bob]
mass = "1200 g"
center_of_mass = [0, 0, "-length"]
[joints.swing]
kind = "revolute"
parent = "ground"
child = "bob"
axis = "y"
"""


def test_amounts_with_units() -> None:
    system = from_toml(PENDULUM).freeze()
    assert system.bodies[0].mass == Number(1.2)
    assert (system.parameters[0].default, system.parameters[0].unit) == (2.0, "m")


@pytest.mark.parametrize(
    ("given", "value", "unit"),
    [
        ("2", 2.0, ""),
        ('"2 m"', 2.0, "m"),
        ('"36 km/h"', 10.0, "m/s"),
        ('{ value = 180, unit = "deg" }', math.pi, "rad"),
        ('{ value = "180", unit = "deg" }', math.pi, "rad"),
        ('{ value = "180 deg", unit = "rad" }', math.pi, "rad"),
        ('{ value = "0.5 rev", unit = "deg" }', math.pi, "rad"),
        ('{ value = 102, unit = "cm" }', 1.02, "m"),
        ('{ value = "pi/2" , unit = "rad" }', math.pi / 2, "rad"),
        ('{ value = "360/2" , unit = "deg" }', math.pi, "rad"),
        ('{ value = "pi" , unit = "rad" }', math.pi, "rad"),
    ],
)
def test_parameters_count_in_their_unit(given: str, value: float, unit: str) -> None:
    text = PENDULUM.replace("[parameters]", f"[parameters]\np = {given}")
    parameter = from_toml(text).freeze().parameters[0]
    assert (parameter.default, parameter.unit) == (value, unit)


def test_springs_may_be_written_as_such() -> None:
    text = PENDULUM + '[springs.coil]\nmeasure = "swing"\nstiffness = "3.5*length"\nrest = 0.1\ndamping = 2\n'
    m = Model.of(from_toml(PENDULUM).freeze())
    m.spring("swing", "3.5*length", 0.1, 2, "coil")
    assert from_toml(text).freeze() == m.freeze()


def test_inertia_as_a_list_and_angles_in_degrees() -> None:
    text = (
        PENDULUM.replace('mass = "1200 g"', 'mass = 1\ninertia = [1, "1 kg*m^2", "0.45*length"]')
        + 'default = "90 deg"\nspan = ["-180 deg", 3]\n'
    )
    system = from_toml(text).freeze()
    assert system.bodies[0].inertia.zz == 0.45 * Name("length")
    coordinate = system.joints[0].coordinates[0]
    assert (coordinate.default, coordinate.low, coordinate.high) == (math.pi / 2, -math.pi, 3.0)


def test_a_byte_order_mark_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_bytes(b"\xef\xbb\xbf" + PENDULUM.encode())
    assert read_model(path).name == "pendulum"


# -------------------------------------------------------------------- complaints


def _with(old: str, new: str) -> str:
    assert old in PENDULUM
    return PENDULUM.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # unknown and missing keys
        (_with("mass", "mas"), "body 'bob': unknown key 'mas'; did you mean 'mass'?"),
        (_with("[bodies.bob]", "[body.bob]"), "the model: unknown key 'body'; did you mean 'bodies'?"),
        (_with("axis", "axes"), "joint 'swing': unknown key 'axes'; did you mean 'axis'?"),
        (_with('length = "200 cm"', "length = { vaule = 2 }"), "parameter 'length': unknown key 'vaule'; did you mean 'value'?"),
        (
            _with('mass = "1200 g"', ""),
            "body 'bob': 'mass' is missing; give a number such as 1.5, or a text such as '5 cm' or 'wheelbase - trail'",
        ),
        (_with('name = "pendulum"', ""), "the model: 'name' is missing; give it in quotes"),
        (_with('parent = "ground"', ""), "joint 'swing': 'parent' is missing; give it in quotes"),
        (
            _with('kind = "revolute"', ""),
            "joint 'swing': 'kind' is missing; give one of free, free_euler, planar, revolute, prismatic, cylindrical, screw, "
            "universal, spherical, fixed, or a 'chain' of displacements",
        ),
        (_with("revolute", "revolut"), "joint 'swing': kind 'revolut' is unknown; did you mean 'revolute'?"),
        (_with('axis = "y"', 'axis = "q"'), "joint 'swing': axis 'q' is unknown; known are x, y, z"),
        # values of the wrong kind
        (
            _with('mass = "1200 g"', "mass = true"),
            "body 'bob': 'mass' must be an amount, got true; give a number such as 1.5, or a text such as '5 cm' or",
        ),
        (
            _with('[0, 0, "-length"]', "[0, 0]"),
            "body 'bob': 'center_of_mass' must be a list of three amounts, got [0, 0]; give a list such as [0.3, 0, 'height']",
        ),
        (
            _with('[0, 0, "-length"]', "3"),
            "body 'bob': 'center_of_mass' must be a list of three amounts, got 3; give a list such as [0.3, 0, 'height']",
        ),
        (_with('parent = "ground"', "parent = 0"), "joint 'swing': 'parent' must be a text, got 0; give it in quotes"),
        (
            PENDULUM + "[bodies]\nrod = 3\n",
            "body 'rod': expected a table, got 3; give it as { key = value } or under a header in brackets",
        ),
        ("bodies = 3\n" + PENDULUM.replace("[bodies.bob]", "[points.bob]"), "bodies of the model: expected a table, got 3; "),
        (_with('"1200 g"', "inf"), "mass of body 'bob': expected a number, a text such as '5 cm' or an expression, got inf"),
        (_with('"1200 g"', "1979-05-27"), "body 'bob': 'mass' must be an amount, got datetime.date(1979, 5, 27)"),
        (PENDULUM + "span = [1]\n", "joint 'swing': 'span' needs two numbers, the lowest and the highest value, got 1"),
        (
            PENDULUM + "orientation = [{ y = 1, z = 2 }]\n",
            "a rotation of joint 'swing': give one axis with its angle, such as { y = 'tilt' }",
        ),
        (PENDULUM + "orientation = [{ yy = 1 }]\n", "a rotation of joint 'swing': unknown key 'yy'; did you mean 'y'?"),
        (
            PENDULUM + '[edges.e]\nbody = "bob"\non_ground = 1\n',
            "knife edge 'e': 'on_ground' must be true or false, got 1; write true or false, without quotes",
        ),
        (
            'independent = "swing_rate"\n' + PENDULUM,
            "the model: 'independent' must be a list of texts, got 'swing_rate'; give a list such as",
        ),
        ("draisine = 2\n" + PENDULUM, "unknown file format 2; this version of draisine reads format 1"),
        # the tree
        (
            _with('parent = "ground"', 'parent = "grund"'),
            "joint 'swing': its parent 'grund' is not a body of 'pendulum'; did you mean 'ground'?",
        ),
        (
            _with('parent = "ground"', 'parent = "bob"'),
            "the joints form a cycle 'bob' → 'bob' without the ground; make 'ground' the parent of one of these bodies",
        ),
        (PENDULUM + "[bodies.rod]\nmass = 1\n", "body 'rod' has no joint; connect it, for example by free('rod')"),
        (
            PENDULUM + '[joints.other]\nkind = "free"\nchild = "bob"\nparent = "bob"\n',
            "joint 'other': a free joint starts at the ground; leave 'parent' out",
        ),
        # numbers and units
        (_with('"1200 g"', "-1"), "mass of body 'bob' is -1 kg; it must be positive"),
        (_with('"1200 g"', '"85 cm"'), "mass of body 'bob': got '85 cm' (length), expected a mass such as 'kg'"),
        (_with('"1200 g"', '"85 kgs"'), "mass of body 'bob': 'kgs' is not a unit: 'kgs' is unknown; did you mean 'kg'?"),
        (
            _with('"200 cm"', '{ value = "200 cm", unit = "kg" }'),
            "value of parameter 'length': got '200 cm' (length), expected a mass such as 'kg'",
        ),
        (_with('"200 cm"', '{ value = 2, unit = "foot" }'), "parameter 'length': 'foot' is not a unit: 'foot' is unknown"),
        (
            _with('"200 cm"', '"20 °C"'),
            "parameter 'length': '°C': °C is a scale with an offset, which is not supported; use kelvin, 'K'",
        ),
        (
            _with('"200 cm"', '"2*reach"'),
            "parameter 'length': unknown name 'reach'",
        ),
        (
            _with('"200 cm"', "nan"),
            "value of parameter 'length': expected a number, a text such as '5 cm' or an expression, got nan",
        ),
        (
            _with('mass = "1200 g"', "mass = 1\ninertia = [1, 1, 3]"),
            "inertia of body 'bob': principal moments 1, 1, 3 kg*m^2 violate the triangle",
        ),
        (
            _with('mass = "1200 g"', "mass = 1\ninertia = { xx = 1, xz = 2 }"),
            "inertia of body 'bob': unknown key 'xz'; known are xx, xy, yy, yz, zx, zz",
        ),
        # names and expressions
        (
            PENDULUM + '[inputs]\nlength = { unit = "N" }\n',
            "model 'pendulum': 'length' names both a parameter and an input; rename one",
        ),
        (_with('"-length"', '"-lenght"'), "center_of_mass of body 'bob' along z: unknown name 'lenght'; did you mean 'length'?"),
        (
            _with('"-length"', '"2 * * length"'),
            "center_of_mass of body 'bob': expression '2 * * length': unexpected '*' at column 5",
        ),
        (
            _with('"-length"', "\"__import__('os')\""),
            "center_of_mass of body 'bob': expression '__import__('os')': unexpected '_' at column 1",
        ),
        (
            PENDULUM + '[outputs]\nspeed = "swing_rte"\n',
            "output 'speed': unknown name 'swing_rte'; did you mean 'swing_rate'?",
        ),
        (
            PENDULUM + '[outputs]\nspeed = "swing +"\n',
            "expression of output 'speed': expression 'swing +': unexpected end at column 8",
        ),
        (
            PENDULUM + '[generalized_forces.push]\nmeasure = "swing"\namount = "a b"\n',
            "amount of generalized force 'push': expression 'a b': unexpected 'b'",
        ),
        (
            PENDULUM + "[events.w]\nexpression = 1\ndirection = 3\n",
            "event 'w': direction must be 1 (rising), -1 (falling) or 0 (both), got 3",
        ),
        (
            PENDULUM + '[events.w]\nexpression = 1\naction = "stopp"\n',
            "event 'w': action 'stopp' is unknown; did you mean 'stop'?",
        ),
        (
            PENDULUM + "[bodies.2x]\nmass = 1\n",
            "bodies: '2x' is not a valid name; use letters, digits and underscores, beginning with a letter",
        ),
        (
            PENDULUM + "[tables.f]\nknots = [0, 0]\nvalues = [1, 2]\n",
            "table 'f': the knots must increase, but 0 is followed by 0; ",
        ),
        (PENDULUM + '[tables.f]\nknots = [0, 1]\nvalues = ["a", 2]\n', "table 'f': values must be numbers"),
        # chains
        (
            PENDULUM + '[joints.j]\nparent = "ground"\nchild = "bob"\nchain = [{ turn = "x" }]\n',
            "a displacement of joint 'j': expected one of 'rotate', 'translate', 'ball', 'float' or 'glide', got turn",
        ),
        (
            PENDULUM + '[joints.j]\nparent = "ground"\nchild = "bob"\nchain = [{ ball = { quaternion = ["a"], rates = [] } }]\n',
            "ball of a displacement of joint 'j': 'quaternion' needs 4 names, got 1",
        ),
        (
            PENDULUM + '[joints.j]\nparent = "ground"\nchild = "bob"\nchain = [{ rotate = "x", angle = "2 m" }]\n',
            "angle of a displacement of joint 'j': got '2 m' (length), expected an angle or plain number such as 'rad'",
        ),
    ],
)
def test_complaints_name_file_item_and_cure(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        read_model(path)
    said = re.fullmatch(rf"{re.escape(str(path))}(?:, line (\d+))?: ({re.escape(message)}.*)", str(caught.value), re.DOTALL)
    assert said is not None, str(caught.value)
    if said[1] is None:  # nothing stands there that is wrong, or it is the file as a whole
        assert "is missing" in message or "file format" in message
    else:
        named = re.findall(r"\w+", text.splitlines()[int(said[1]) - 1])
        assert set(named) & set(re.findall(r"\w+", message)), "the line has nothing of what the message names"


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (
            'name = "a\n',
            r"not valid TOML: .* near 'name = \"a'; check quotes, brackets and equals signs there",
        ),
        ("name = 1 2\n", r"not valid TOML: Expected newline .* near 'name = 1 2'; check quotes"),
        ("name\n", r"not valid TOML: Expected '=' .* near 'name'; check quotes"),
        (
            PENDULUM + "[bodies.bob]\nmass = 2\n",
            r"\[bodies\.bob\] is defined twice; rename or remove one",
        ),
        (
            _with('mass = "1200 g"', "mass = 1\nmass = 2"),
            r"a key is given twice: .* near 'mass = 2'; rename or remove one",
        ),
        (
            _with('"200 cm"', "{ value = 2, value = 3 }"),
            r"a key is given twice: .* near 'length = .*'; rename or remove one",
        ),
        ("a = " + "[" * 5000, "not valid TOML: brackets are nested too deeply"),
        ("a = " + "9" * 5000, "not valid TOML: "),
        ("\x00", "not valid TOML: "),
    ],
)
def test_files_that_are_no_toml(text: str, pattern: str) -> None:
    with pytest.raises(ModelError, match=rf"^my\.toml(, line \d+, column \d+)?: {pattern}"):
        from_toml(text, "my.toml")


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("[bodies.box]\nmass = 1\ncentre = [0, 0, 0]", "centre", "center_of_mass"),
        ("[wheels.front]\nbody = 'fork'\ncentre = [0, 0, 0]", "centre", "center"),
        ("[bodies.box]\nmass = 1\nabout = 'a box'", "about", "description"),
        ("[ties.link]\nkind = 'rod'", "ties", "constraints"),
        ("[efforts.motor]\nmeasure = 'turn'", "efforts", "generalized_forces"),
    ],
)
def test_retired_keys_are_reported_with_their_new_names(text: str, old: str, new: str) -> None:
    with pytest.raises(ModelError, match=f"unknown key '{old}'; it is called '{new}' now: rename it"):
        from_toml(f'name = "m"\n{text}')


def test_files_that_are_no_text_or_too_large_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_bytes(b'name = "a"\nabout = "\xff"\n')
    with pytest.raises(ModelError, match=r"m\.toml, line 2: not UTF-8 text; save the file in that encoding"):
        read_model(path)
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(ModelError, match=r"m\.toml: larger than 10 MB; is it the right file\?"):
        read_model(path)
    with pytest.raises(ModelError, match="model text: larger than 10 MB"):
        from_toml("#" * (MAX_BYTES + 1))
    with pytest.raises(ModelError, match=r"absent\.toml: cannot be read \(No such file or directory\); check the name"):
        read_model(tmp_path / "absent.toml")
    with pytest.raises(ModelError, match=r"cannot be read \(Is a directory\)"):
        read_model(tmp_path)


@given(
    st.recursive(
        st.booleans() | st.integers() | st.floats() | st.text(max_size=8), lambda v: st.lists(v, max_size=3), max_leaves=6
    )
)
@settings(max_examples=60)
def test_any_value_in_any_slot_is_read_or_refused_in_words(value: object) -> None:
    if isinstance(value, int) and abs(value) > 2**60:
        return
    try:
        text = inline(value)
        tomllib.loads(f"v = {text}")
    except (TypeError, ValueError):
        return  # not to be written in TOML: a lone surrogate, an integer out of range
    for old in ('"1200 g"', '"200 cm"', '[0, 0, "-length"]', '"revolute"', '"ground"', '"bob"', '"y"', '"pendulum"'):
        try:
            from_toml(PENDULUM.replace(old, text))
        except ModelError as problem:
            assert re.match(r"model text(, line \d+(, column \d+)?)?: ", str(problem))


def test_writing_checks_the_model_first() -> None:
    m = Model("bad")
    m.body("box", -1.0)
    m.free("box")
    with pytest.raises(ModelError, match="mass of body 'box' is -1 kg"):
        to_toml(m)


def test_joints_that_only_look_like_a_named_kind_keep_their_chain() -> None:
    m = Model("lookalike")
    m.body("box", 1.0)
    joint = Joint(
        "hinge", "ground", "box", (Rotate("z", 2 * Name("hinge")),), (Coordinate("hinge", "hinge_rate", "rad", 0.0, -1.5, 1.5),)
    )
    m._add("joints", joint)
    assert from_toml(to_toml(m)).freeze().joints == (joint,)


def test_typed_models_of_the_gallery_are_refused_with_the_reason(tmp_path: Path) -> None:
    made = {name: gallery.model(name) for name in gallery.models()}
    typed = {name: model for name, model in made.items() if not isinstance(model, Model)}
    assert {"cart_pole", "double_pendulum", "van_der_pol", "shuttle"} <= set(typed)
    for equations in typed.values():
        with pytest.raises(ArgumentError, match=f"{equations.name!r} consists of formulas: keep the Python code"):
            write_model(equations, tmp_path / "typed.toml")  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="only models of bodies and joints"):
            to_toml(equations)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
