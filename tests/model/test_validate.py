"""Checks of descriptions: every complaint names the item, what was given and the cure."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import replace

import pytest

from draisine.errors import ModelError
from draisine.expr.expression import Name, Number
from draisine.model.items import Ball, Coordinate, Float, Rotate, Translate
from draisine.model.model import Model
from draisine.model.validate import check_system


def cart() -> Model:
    """A free body that carries a hinged wheel; correct, and ready to be spoiled."""
    m = Model("cart")
    m.parameter("load", 10.0, "kg")
    m.parameter("size", 0.5, "m")
    m.input("push", "N")
    m.body("frame", mass="load", inertia=(2.0, 2.0, 1.0))
    m.body("disc", mass=1.0, inertia=(0.1, 0.2, 0.1))
    m.point("hub", "frame", (0.1, 0, 0))
    m.free("frame")
    m.revolute("spin", "frame", "disc", axis="y", at=("size", 0, 0))
    m.wheel("rear", "disc", radius="size")
    return m


def complaint(spoil: Callable[[Model], object]) -> str:
    m = cart()
    with pytest.raises(ModelError) as caught:
        spoil(m)
        m.freeze()
    return str(caught.value)


def test_a_parameter_may_be_given_in_another_unit() -> None:
    m = cart()
    m.parameter("tilt", 18.0, "deg")
    m.parameter("stiffness", 2.0, "kN/mm")
    tilt, stiffness = m.freeze().parameters[-2:]
    assert tilt.default == pytest.approx(math.pi / 10, rel=1e-15)
    assert tilt.unit == "rad"
    assert (stiffness.default, stiffness.unit) == (2e6, "N/m")


def test_a_correct_model_passes() -> None:
    system = cart().freeze()
    assert [b.name for b in system.bodies] == ["frame", "disc"]


# -------------------------------------------------------------------- names and units


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda m: m.body("frame", 1.0), "'cart' already has a body 'frame'; choose another name"),
        (lambda m: m.parameter("push", 1.0), "model 'cart': 'push' names both a parameter and an input; rename one of them"),
        (
            lambda m: m.output("spin", "2*size"),
            "model 'cart': 'spin' names both a coordinate of joint 'spin' and an output; rename one of them",
        ),
        (
            lambda m: m.input("spin_rate"),
            "model 'cart': 'spin_rate' names both a velocity of joint 'spin' and an input; rename one of them",
        ),
        (lambda m: m.parameter("t", 1.0), "model 'cart': 't' names both time and a parameter; rename one of them"),
        (lambda m: m.point("disc", "frame"), "model 'cart': 'disc' names both a body and a point; rename one of them"),
        (lambda m: m.body("ground", 1.0), "model 'cart': 'ground' names both the world and a body; rename one of them"),
        (
            lambda m: m.knife_edge("frame", name="rear"),
            "model 'cart': 'rear' names both a wheel and a knife edge; rename one of them",
        ),
        (
            lambda m: m.table("sin", [0, 1], [0, 1]),
            "model 'cart': 'sin' names both a function of expressions and a table; rename one of them",
        ),
        (
            lambda m: m.body("2x", 1.0),
            "bodies: '2x' is not a valid name; use letters, digits and underscores, beginning with a letter",
        ),
        (
            lambda m: m.parameter("length", 1.0, "meters"),
            "unit of parameter 'length': 'meters' is not a unit: 'meters' is unknown",
        ),
        (lambda m: m.input("pull", "kN"), "input 'pull': values are in SI units, but its unit is 'kN'; give the unit 'N'"),
    ],
)
def test_names_and_units(spoil: Callable[[Model], object], message: str) -> None:
    assert complaint(spoil).startswith(message)


def test_an_output_may_be_in_degrees() -> None:
    m = cart()
    m.output("angle", "spin*180/pi", "deg")
    assert m.freeze().outputs[0].unit == "deg"


def test_a_text_with_a_unit_says_what_a_parameter_is() -> None:
    m = cart()
    m.parameter("arm", "50 cm")
    arm = m.freeze().parameters[-1]
    assert (arm.default, arm.unit) == (0.5, "m")


def test_springs_generalized_forces_and_wrenches_take_units() -> None:
    m = cart()
    m.spring("spin", "2 kN*mm/rad", rest="180 deg", damping="3 N*m*s/rad", name="coil")
    m.spring("distance(hub, frame)", "4 N/mm", rest="20 cm", name="strut")
    m.generalized_force("spin", "2 N*m", name="drive")
    m.wrench("hub", force=("1 kN", 0, 0), torque=(0, "50 N*cm", 0), name="pull")
    system = m.freeze()
    assert [str(p.energy) for p in system.potentials] == [
        "0.5*2*(spin - pi)**2",
        "0.5*4000*(distance(hub, frame) - 0.2)**2",
    ]
    assert [str(e.amount) for e in system.generalized_forces][-2:] == ["-3*rate(spin)", "2"]
    assert [str(c) for c in (*system.wrenches[-1].force, *system.wrenches[-1].torque)] == ["1000", "0", "0", "0", "0.5", "0"]
    with pytest.raises(ModelError, match=r"stiffness of spring 'weak': got '2 N/m' \(stiffness\), expected a torque or energy"):
        m.spring("spin", "2 N/m", name="weak")


# -------------------------------------------------------------------- units on input


def test_amounts_with_units_that_do_not_fit() -> None:
    assert complaint(lambda m: m.body("box", "85 cm")) == (
        "mass of body 'box': got '85 cm' (length), expected a mass such as 'kg'"
    )
    assert complaint(lambda m: m.wheel("front", "disc", radius="5 deg")) == (
        "radius of wheel 'front': got '5 deg' (angle or plain number), expected a length such as 'm'"
    )


# -------------------------------------------------------------------- the tree


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda m: (m.body("box", 1.0), m.revolute("hinge", "fram", "box")),
            "joint 'hinge': its parent 'fram' is not a body of 'cart'; did you mean 'frame'?",
        ),
        (
            lambda m: m.revolute("hinge", "frame", "dics"),
            "joint 'hinge': its child 'dics' is not a body of 'cart'; did you mean 'disc'?",
        ),
        (
            lambda m: m.revolute("hinge", "frame", "ground"),
            "joint 'hinge': its child 'ground' is not a body of 'cart'; the ground can only be a parent",
        ),
        (
            lambda m: m.fixed("weld", "ground", "disc"),
            "body 'disc' is the child of two joints, 'spin' and 'weld'; remove "
            "one, since the joints must form a tree, and close the loop by a constraint",
        ),
        (lambda m: m.body("box", 1.0), "body 'box' has no joint; connect it, for example by free('box')"),
        (
            lambda m: (m.body("a", 1.0), m.body("b", 1.0), m.revolute("ab", "a", "b"), m.revolute("ba", "b", "a")),
            "the joints form a cycle 'a' → 'b' → 'a' without the ground; make 'ground' the parent of one of these bodies",
        ),
        (
            lambda m: (m.body("a", 1.0), m.fixed("aa", "a", "a")),
            "the joints form a cycle 'a' → 'a' without the ground; make 'ground' the parent of one of these bodies",
        ),
    ],
)
def test_the_tree(spoil: Callable[[Model], object], message: str) -> None:
    assert complaint(spoil) == message


def test_a_model_without_bodies() -> None:
    with pytest.raises(ModelError, match=r"^model 'empty' has no body; add one with body\(…\)$"):
        Model("empty").freeze()


def _with_joint(*joint: object) -> Callable[[Model], object]:
    return lambda m: (m.body("box", 1.0), m.joint("odd", *joint))  # type: ignore[arg-type]


FREE = Float(("a", "b", "c"), ("d", "e", "f", "g"), ("h", "i", "j"), ("k", "l", "m"))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            _with_joint("frame", "box", [Rotate("w", Number(1.0))]),
            "joint 'odd': axis of a rotation must be 'x', 'y' or 'z', got 'w'",
        ),
        (
            _with_joint("frame", "box", [Rotate("x", Number(1.0))], [Coordinate("q", "qr", "rad")]),
            "joint 'odd': no displacement uses its coordinate 'q'; use it in the chain or leave it out",
        ),
        (
            _with_joint("frame", "box", [Rotate("x", Name("q"))], [Coordinate("q", "qr", "rad", 0.0, 2.0, 1.0)]),
            "joint 'odd': the span of coordinate 'q' must increase and be finite, got 2 to 1",
        ),
        (
            _with_joint("frame", "box", [FREE]),
            "joint 'odd': free motion is relative to the ground; use 'ground' as parent and no other displacement",
        ),
        (
            _with_joint("ground", "box", [Translate((Number(1.0),) * 3), FREE]),
            "joint 'odd': free motion is relative to the ground; use 'ground' as parent and no other displacement",
        ),
        (
            _with_joint("frame", "box", [Ball(("a", "b", "c", "d"), ("e", "f", "g"))]),
            "joint 'odd': 'a' is not among its coordinates; list it there",
        ),
        (
            _with_joint(
                "frame", "box", [Ball(("a", "b", "c", "d"), ("e", "f", "g"))], [Coordinate(n, f"{n}_rate", "") for n in "abcd"]
            ),
            "joint 'odd': coordinate 'a' has its rate from the displacement; its own rate must be empty",
        ),
        (
            _with_joint("frame", "box", ["turn"]),
            "joint 'odd': 'turn' is not a displacement; use Rotate, Translate, Ball, Float or Glide",
        ),
    ],
)
def test_joints(spoil: Callable[[Model], object], message: str) -> None:
    assert complaint(spoil) == message


# -------------------------------------------------------------------- contacts, forces, expressions


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda m: m.point("top", "fram"), "point 'top': its body 'fram' is not a body of model 'cart'; did you mean 'frame'?"),
        (lambda m: m.wheel("w", "dics", 1.0), "wheel 'w': its body 'dics' is not a body of model 'cart'; did you mean 'disc'?"),
        (
            lambda m: m.wheel("w", "ground", 1.0),
            "wheel 'w': its body 'ground' is not a body of model 'cart'; known are disc, frame",
        ),
        (
            lambda m: m.knife_edge("blade"),
            "knife edge 'blade_edge': its body 'blade' is not a body of model 'cart'; known are disc, frame",
        ),
        (lambda m: m.wheel("w", "disc", 1.0, axis="q"), "wheel 'w': its axis must be 'x', 'y' or 'z', got 'q'"),
        (
            lambda m: m.knife_edge("frame", along="xy"),
            "knife edge 'frame_edge': its direction must be 'x', 'y' or 'z', got 'xy'",
        ),
        (
            lambda m: m.wrench("hup", (1, 0, 0)),
            "wrench 'wrench_at_hup': 'hup' is neither a point nor a body of model 'cart'; did you mean 'hub'?",
        ),
        (
            lambda m: m.event("w", "spin", direction=2),
            "event 'w': direction must be 1 (rising), -1 (falling) or 0 (both), got 2",
        ),
        (
            lambda m: m.independent("spin_rat"),
            "independent velocities of model 'cart': 'spin_rat' is not a velocity; did you mean 'spin_rate'?",
        ),
        (
            lambda m: m.independent("spin_rate", "spin_rate"),
            "independent velocities of model 'cart': each may be listed once, got spin_rate, spin_rate",
        ),
    ],
)
def test_contacts_and_forces(spoil: Callable[[Model], object], message: str) -> None:
    assert complaint(spoil) == message


def _box(mass: object = 1.0, **options: object) -> Callable[[Model], object]:
    return lambda m: m.free(m.body("box", mass, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_box("laod"), "mass of body 'box': unknown name 'laod'; did you mean 'load'?"),
        (_box("push"), "mass of body 'box' may depend on parameters only, but 'push' is an input"),
        (_box("t"), "mass of body 'box' may depend on parameters only, but 't' is time"),
        (_box("frame"), "mass of body 'box': 'frame' is not a quantity; use a measure of it, such as 'lean(frame)'"),
        (
            _box(center_of_mass=(0, "spin", 0)),
            "center_of_mass of body 'box' along y may depend on parameters only, but 'spin' is a coordinate",
        ),
        (
            _box("sine(load)"),
            "mass of body 'box': expression 'sine(load)' calls 'sine', which is "
            "neither a function nor a table; did you mean 'sin'?",
        ),
        (lambda m: m.gravity("g"), "gravity: unknown name 'g'; known are load, size"),
        (lambda m: m.ground(slope="push"), "slope of the ground may depend on parameters only, but 'push' is an input"),
        (lambda m: m.wheel("w", "disc", "sise"), "radius of wheel 'w': unknown name 'sise'; did you mean 'size'?"),
        (
            lambda m: (m.body("box", 1.0), m.revolute("hinge", "frame", "box", at=("spin", 0, 0))),
            "displacement of joint 'hinge' may depend on parameters and its own coordinates only, but 'spin' is a coordinate",
        ),
        (
            lambda m: m.generalized_force("spinn", "push"),
            "measure of generalized force 'force_on_spinn': unknown name 'spinn'; did you mean 'spin'?",
        ),
        (
            lambda m: m.generalized_force("spin_rate", "push"),
            "measure of generalized force 'force_on_spin_rate' may depend on parameters, coordinates, outputs and time only, "
            "but 'spin_rate' is a velocity",
        ),
        (
            lambda m: m.generalized_force("spin", "puch"),
            "amount of generalized force 'force_on_spin': unknown name 'puch'; did you mean 'push'?",
        ),
        (
            lambda m: m.wrench("hub", (0, "puhs", 0)),
            "force of wrench 'wrench_at_hub' along y: unknown name 'puhs'; did you mean 'push'?",
        ),
        (
            lambda m: m.potential("well", "spin_rate^2"),
            "potential 'well' may depend on parameters, coordinates, outputs and time only, but 'spin_rate' is a velocity",
        ),
        (lambda m: m.output("o", "lean(fram)"), "output 'o': unknown name 'fram'; did you mean 'frame'?"),
        (
            lambda m: m.output("o", "frame + 1"),
            "output 'o': 'frame' is not a quantity; use a measure of it, such as 'lean(frame)'",
        ),
        (lambda m: m.event("w", "spn - 1"), "event 'w': unknown name 'spn'; did you mean 'spin'?"),
        (
            lambda m: m.output("a", "1 - a"),
            "the outputs 'a' → 'a' are defined by each other; give one of them an independent expression",
        ),
    ],
)
def test_expressions_name_known_things(spoil: Callable[[Model], object], message: str) -> None:
    assert complaint(spoil) == message


def test_a_longer_circle_of_outputs_is_reported_in_order_of_use() -> None:
    said = complaint(lambda m: (m.output("a", "2*b"), m.output("b", "c + 1"), m.output("c", "a")))
    assert any(path in said for path in ("'a' → 'b' → 'c' → 'a'", "'b' → 'c' → 'a' → 'b'", "'c' → 'a' → 'b' → 'c'"))


def test_long_chains_of_outputs_are_no_trouble() -> None:
    m = cart()
    m.output("o0", "spin")
    for i in range(1, 3000):
        m.output(f"o{i}", f"o{i - 1} + 1")
    assert len(m.freeze().outputs) == 3000


def test_measures_may_be_asked_of_bodies_points_and_contacts() -> None:
    m = cart()
    m.output("height", "position_z(hub) - position_z(frame) + distance(hub, disc) + rate(spin) + lean(rear)")
    m.output("double", "2*height")
    m.freeze()


# -------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            _box("load - 10"),
            "mass of body 'box' is 0 (from 'load - 10' at the default parameters) kg; it must be positive; declare a massless "
            "body by mass=0",
        ),
        (_box(-3), "mass of body 'box' is -3 kg; it must be positive"),
        (_box("load - 12"), "mass of body 'box' is -2 (from 'load - 12' at the default parameters) kg; it must be positive"),
        (
            _box("1.1/(load - 10)"),
            "mass of body 'box': expression '1.1/(load - 10)' gives inf for load = 10.0; expected a finite number",
        ),
        (
            _box(inertia=(1, 1, 3)),
            "inertia of body 'box': principal moments 1, 1, 3 kg*m^2 violate the triangle inequality (the last exceeds the sum "
            "of the others): check the entries, and that they are about the center of mass",
        ),
        (
            _box(inertia={"xx": 1, "yy": 1, "zz": 1, "xy": 2}),
            "inertia of body 'box': principal moments -1, 1, 3 kg*m^2; they must "
            "not be negative: check signs and products of inertia",
        ),
        (
            _box(inertia=(0, 0, 0.5)),
            "inertia of body 'box': principal moments 0, 0, 0.5 kg*m^2 violate the triangle inequality (the last exceeds the sum "
            "of the others): check the entries, and that they are about the center of mass; if only "
            "zz matters, use a planar body: inertia=(0.25, 0.25, 0.5)",
        ),
        # fine along its own axes, and broken only along the principal ones: 0.6, 1.4, 2.001
        (
            _box(inertia={"xx": 1, "yy": 1, "zz": 2.001, "xy": 0.4}),
            "inertia of body 'box': principal moments 0.6, 1.4, 2.001 kg*m^2 violate the triangle inequality (the last exceeds "
            "the sum of the others): check the entries, and that they are about the center of mass",
        ),
        (lambda m: m.wheel("w", "disc", 0.0), "radius of wheel 'w' is 0 m; it must be positive"),
        (
            lambda m: m.wheel("w", "disc", "-size"),
            "radius of wheel 'w' is -0.5 (from '-size' at the default parameters) m; it must be positive",
        ),
        (
            lambda m: m.wheel("w", "disc", 1.0, tube=-0.1),
            "tube of wheel 'w' is -0.1 m; it must be positive, or 0 for a thin disk",
        ),
    ],
)
def test_numbers(spoil: Callable[[Model], object], message: str) -> None:
    assert complaint(spoil) == message


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_box(inertia=(1, 2)), "inertia of body 'box': give three entries (xx, yy, zz), or a mapping with"),
        (_box(inertia=0.5), "inertia of body 'box': give three entries (xx, yy, zz), or a mapping with"),
        (
            lambda m: m.frame("tilted", "frame", orientation=("y", 0.3)),
            "orientation of frame 'tilted': give a list of pairs such as [('y', 0.3)], each an axis and an angle; got ('y', 0.3)",
        ),
        (lambda m: m.wrench("hub", force=(1, 2), name="push"), "force of wrench 'push': needs three components, got 2"),
        (
            lambda m: m.prescribe("motor", "spn", "t"),
            "prescribed motion 'motor': the unit of 'spn' is unknown; give it, for example unit='m' or unit='rad'; did you "
            "mean 'spin'?",
        ),
    ],
)
def test_forms(spoil: Callable[[Model], object], message: str) -> None:
    assert complaint(spoil).startswith(message)


def test_flat_bodies_and_point_masses_are_rigid_bodies() -> None:
    m = cart()
    m.free(m.body("plate", 1.0, inertia=(0.1, 0.2, 0.1 + 0.2)))
    m.free(m.body("rod", 1.0, inertia={"xx": 0.5, "yy": 0.5, "zz": 1.0, "xy": -0.5}))
    m.free(m.body("bead", 1.0))
    m.freeze()


def test_amounts_may_use_tables() -> None:
    m = cart()
    m.table("load_table", [0, 20], [1, 3], kind="linear")
    m.free(m.body("box", "load_table(load) - 1.5"))
    m.freeze()
    m.free(m.body("other", "load_table(load) - 2.5"))
    with pytest.raises(ModelError, match=r"mass of body 'other' is -0\.5 "):
        m.freeze()


def test_frozen_descriptions_are_checked_alike() -> None:
    system = cart().freeze()
    check_system(system)
    broken = replace(system, bodies=(system.bodies[0]._replace(mass=Number(-1.0)), *system.bodies[1:]))
    with pytest.raises(ModelError, match="mass of body 'frame' is -1 kg; it must be positive"):
        check_system(broken)
    with pytest.raises(ModelError, match="'rear' names both a wheel and a wheel"):
        check_system(replace(system, wheels=system.wheels * 2))


def test_a_description_frozen_again_is_the_same_until_it_changes() -> None:
    m = cart()
    first = m.freeze()
    assert m.freeze() is first
    m.gravity(1.6)
    second = m.freeze()
    assert second != first
    m.gravity(9.81)
    assert m.freeze() == first
    assert hash(m.freeze()) == hash(first)
    m.body("another", mass=-1.0)
    with pytest.raises(ModelError):
        m.freeze()
    with pytest.raises(ModelError):
        m.freeze()


def test_a_pickled_system_leaves_its_hash_behind():
    """Hashes of texts differ between processes."""
    system = cart().freeze()
    assert hash(system) == hash(cart().freeze())
    again = pickle.loads(pickle.dumps(system))
    assert again == system and "_hash" in vars(system) and "_hash" not in vars(again)


def test_parameters_that_follow_from_each_other_are_refused_on_a_profile():
    """The planes and edges of a profile need their values before everything is validated."""
    m = Model("wheel")
    m.parameter("a", "b", "m")
    m.parameter("b", "a", "m")
    body = m.body("rim", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.planar(body)
    m.wheel("rim", body, 0.3, friction=0.5)
    m.ground(profile=[(-1, 0), (0, 0), (0, "a"), (1, "a")])
    with pytest.raises(ModelError, match="a, b"):
        m.freeze()
