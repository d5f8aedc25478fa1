"""The certificate: every model of the gallery passes, and deliberate faults are detected and attributed."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache, cached_property

import casadi as ca
import numpy as np
import pytest

import draisine as dr
from draisine import certify
from draisine.cli.main import main
from draisine.dynamics.lagrangian.energies import Energies, derive_by_energies
from draisine.dynamics.verify.certificate import compare_derivations
from draisine.dynamics.verify.derivations import Derivations
from draisine.dynamics.verify.single_derivation import DerivativeCheck
from draisine.errors import ModelError
from draisine.expr.expression import Number, parse
from draisine.model import contact_items, items
from draisine.model.contact.laws import Rolling
from draisine.model.model import Model


@cache
def certified(name):
    model = dr.gallery.model(name)
    return model, certify(model, count=4)


def contacts_of(name):
    """Contacts of a model that may open, and whether they may stick."""
    model = dr.gallery.model(name)
    found = model.freeze().unilateral if isinstance(model, Model) else ()
    resists = contact_items.ContactResistance  # stays as it is or is left out
    return {contact.name: contact.friction.static != Number(0.0) and not isinstance(contact, resists) for contact in found}


def certified_in_modes(name, contacts):
    """With one contact that sticks, the others open, for the first and the last of them; and with all of them open."""
    sticks = [contact for contact, may_stick in contacts.items() if may_stick]
    system = dr.gallery.model(name).freeze()
    rubs = {
        item.name for item in system.unilateral if isinstance(item, contact_items.JointFriction)
    }  # dry friction does not open
    for closed in {*sticks[:1], *sticks[-1:], None}:
        modes = {contact: "stick" if contact == closed or contact in rubs else "open" for contact in contacts}
        if closed is None and rubs:
            continue
        if system.ground.profile:
            with pytest.raises(dr.errors.ArgumentError, match="a part of a ground profile; describe plane ground"):
                dr.gallery.model(name).in_modes(modes)
            continue
        certificate = certify(dr.gallery.model(name).in_modes(modes), count=2)
        assert certificate.passed, (closed, str(certificate))
        assert certificate.verdict == "all derivations agree" and "energies" in certificate.derivations


@pytest.mark.long
@pytest.mark.parametrize("name", dr.gallery.models())
def test_every_model_of_the_gallery_is_certified(name):
    """Graphs by all derivations, equations by what one can show; `test_descriptions` has the latter against graphs."""
    if contacts := contacts_of(name):
        certified_in_modes(name, contacts)
        return
    model, certificate = certified(name)
    assert certificate.passed, str(certificate)
    allowed = {line.what: line.allowed for line in certificate.lines}
    assert allowed["Jacobian against complex step"] == 1e-10 and allowed["Jacobian against differences"] == 1e-6
    if isinstance(model, Model):
        assert certificate.verdict == "all derivations agree"
        assert certificate.derivations[0] in ("reduced", "recursive", "whole") and certificate.derivations[1] == "augmented"
        system = model.freeze()
        beyond = bool(system.surface_contacts) or any(not isinstance(wheel.contact, Rolling) for wheel in system.wheels)
        # laws of slip and contacts of surfaces have independent checks among the tests of equations and gallery
        assert ("energies" in certificate.derivations) == (not beyond)
        assert set(allowed.values()) == {1e-10, 1e-6}
    else:
        assert certificate.verdict == "all checks of a single derivation hold"
        assert certificate.derivations == ("as typed",)


def test_tilted_ground_springs_wrenches_and_a_ball_joint():
    m = Model("contraption")
    frame = m.body(
        "frame", mass=3.0, center_of_mass=(0.1, 0.02, 0.2), inertia={"xx": 0.4, "yy": 0.5, "zz": 0.3, "xy": 0.02, "zx": -0.03}
    )
    wheel = m.body("wheel", mass=1.0, inertia=(0.05, 0.09, 0.05))
    bob = m.body("bob", mass=0.4, center_of_mass=(0.0, 0.1, -0.3), inertia=(0.02, 0.03, 0.01))
    m.free(frame)
    m.revolute("spin", frame, wheel, axis="y")
    m.spherical("swing", frame, bob, at=(0.1, 0.0, 0.4), orientation=[("x", 0.3)])
    m.wheel("rim", wheel, radius=0.3, tube=0.02)
    m.ground(slope=0.2, bank=-0.1)
    m.point("hook", frame, (0.2, 0.1, 0.3))
    m.frame("tip", bob, (0.0, 0.0, -0.4), orientation=[("z", 0.5)])
    m.point("wall", "ground", (1.0, 2.0, 1.5))
    m.spring("distance(hook, wall)", 30.0, rest="0.5 + 0.1*t", damping=2.0)  # a moved end does work
    m.generalized_force("spin", m.input("torque", "N*m"))
    m.wrench("tip", force=("2*t + 1", 0.5, -1.0), torque=(0.1, 0.2, 0.3), axes="body")
    certificate = certify(m, count=6)
    assert certificate.passed, str(certificate)
    assert [a.what for a in certificate.avoided][:2] == [
        "joint 'frame_motion': frame_heading and frame_pitch rotate about the same axis where frame_lean is -90° or 90°",
        "joint 'swing': swing_heading and swing_pitch rotate about the same axis where swing_lean is -90° or 90°",
    ]
    assert "wheel 'rim' lies flat and has no contact point" in [a.what for a in certificate.avoided]


def test_a_motor_that_has_nothing_to_do():
    """A platform turns steadily below a pendulum whose pivot is on its axis: the torque is zero, and only rounding is left."""
    m = Model("foucault")
    platform = m.body("platform", mass=10.0, inertia=(1, 1, 2))
    bob = m.body("bob", mass=1.0, center_of_mass=(0, 0, -2))
    m.revolute("angle", "ground", platform)
    m.universal("swing", platform, bob, at=(0, 0, 3))
    m.prescribe("motor", "angle", "0.5*t")
    certificate = certify(m, count=4)
    assert certificate.passed, str(certificate)
    assert "contact forces: energies" in [line.what for line in certificate.lines]


def test_a_tree_without_contacts():
    m = Model("arm")
    upper = m.body("upper", mass=2.0, center_of_mass=(0, 0, -0.3), inertia=(0.1, 0.1, 0.02))
    lower = m.body("lower", mass=1.0, center_of_mass=(0.05, 0, -0.2), inertia=(0.05, 0.05, 0.01))
    m.universal("shoulder", "ground", upper, axes="xy")
    m.screw("wrist", upper, lower, lead=0.1, axis="z", at=(0, 0, -0.6))
    certificate = certify(m, count=6)
    assert certificate.passed, str(certificate)
    assert "connection" not in certificate.derivations
    assert certificate.avoided == ()  # crossing hinges are never singular


# ---------------------------------------------------------------- singular positions


def tumbling(order: str) -> Model:
    m = Model("tumbling")
    body = m.body("stone", mass=1.0, inertia=(0.1, 0.2, 0.3))
    m.free_euler(body, order=order, angles=("a", "b", "c"))
    return m


@pytest.mark.parametrize(("order", "where"), [("zxz", "0° or 180°"), ("zxy", "-90° or 90°")])
def test_states_keep_away_from_singular_angles_and_say_so(order, where):
    certificate = certify(tumbling(order), count=24)
    assert certificate.passed, str(certificate)
    (avoided,) = certificate.avoided
    assert avoided.what == f"joint 'stone_motion': a and c rotate about the same axis where b is {where}"
    reported = f"avoided: {avoided.what} (states rejected: {avoided.states})"
    assert reported in str(certificate) and certificate.as_data()["avoided"] == [{"what": avoided.what, "states": avoided.states}]
    if order == "zxz":
        assert avoided.states > 0  # its zero is the pole


def test_a_shifted_angle_is_reported_where_its_coordinate_stands():
    _, certificate = certified("delebecque_graph")
    assert "rear_heading and frame_angle rotate about the same axis where rear_slant is 0° or 180°" in certificate.avoided[0].what


def test_a_model_that_is_singular_everywhere_is_refused():
    m = Model("stuck")
    body = m.body("stone", mass=1.0, inertia=(0.1, 0.2, 0.3))
    chain = [
        items.Rotate("z", parse("a")),
        items.Rotate("x", parse("b")),
        items.Rotate("z", parse("c")),
    ]
    spans = [items.Coordinate(n, f"{n}_rate", "rad", 0.0, -s, s) for n, s in (("a", 1.0), ("b", 1e-3), ("c", 1.0))]
    m.joint("hinge", "ground", body, chain, spans)
    with pytest.raises(
        ModelError, match=r"'stuck': no state was found away from singular configurations \(joint 'hinge': a and c rotate"
    ):
        certify(m, count=3)


# ---------------------------------------------------------------- faults


class Faulty(Energies):
    """The second family with one mistake of the kind people make."""

    def __init__(self, system, fault):
        self.fault = fault
        super().__init__(system)

    @cached_property
    def potential(self):
        return -super().potential if self.fault == "sign of the potential" else super().potential

    @cached_property
    def gravity(self):
        return -super().gravity if self.fault == "sign of its gradient" else super().gravity

    @cached_property
    def coriolis(self):
        """With one of the three terms of the Christoffel symbols dropped, or all of them twice."""
        if self.fault == "Coriolis twice":
            return 2 * super().coriolis
        if self.fault != "a Christoffel term dropped":
            return super().coriolis
        n = self.q.numel()
        jacobian = [ca.reshape(ca.jacobian(ca.vec(ca.densify(self.mass)), self.q[i]), n, n) for i in range(n)]
        rows = [
            [sum((jacobian[i][k, j] + jacobian[j][k, i]) * self.v[i] / 2 for i in range(n)) for j in range(n)] for k in range(n)
        ]
        return ca.vertcat(*[ca.horzcat(*row) for row in rows])

    @cached_property
    def kinetic(self):
        """With the rolling constraints already used in it: the velocity of the hub replaced by that of a rolling wheel."""
        whole = super().kinetic
        if self.fault != "constraints put into the kinetic energy":
            return whole
        heights, rolling = self.constraints
        held = ca.vertcat(*[self.rate(h) for _, h in heights], *[r for _, r in rolling])
        place = [self.names.index(f"disk_{axis}") for axis in "xyz"]
        still = ca.substitute(held, self.v[place], ca.SX.zeros(3))
        rolled = -ca.solve(ca.jacobian(held, self.v[place]), still)
        # a tenth of it: with all of it the mass matrix would be singular and nobody would go on
        return 0.9 * whole + 0.1 * ca.substitute(whole, self.v[place], rolled)


BOTH = "Newton–Euler (reduced, augmented) and energies (energies, connection)"


@pytest.mark.parametrize("model", ["bicycle", "rolling_disk"])
@pytest.mark.parametrize("fault", ["sign of its gradient", "Coriolis twice", "a Christoffel term dropped"])
def test_a_fault_in_one_family_is_blamed_on_it(model, fault):
    """Both families have the same energies, but one of them does not keep their balance."""
    certificate = _with_fault(model, fault)
    assert certificate.verdict == (
        "the derivations by energies (energies, connection) disagree with those by Newton–Euler (reduced, augmented), and "
        "violate the power balance of the energies on which both agree: the error is in the derivations by energies"
    )
    failing = {line.what for line in certificate.lines if not line.holds}
    assert {"accelerations: energies", "accelerations: connection", "power balance"} <= failing
    assert "accelerations: augmented" not in failing and "kinetic energy" not in failing


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("sign of the potential", "; they already differ in: potential energy"),
        (
            "constraints put into the kinetic energy",
            "; their kinetic energies agree where the constraints are satisfied and differ elsewhere: in one of them the "
            "constraints were substituted before differentiation",
        ),
    ],
)
def test_a_fault_in_the_energies_of_one_family_is_placed_as_far_as_can_be(fault, said):
    certificate = _with_fault("rolling_disk", fault)
    assert certificate.verdict == f"{BOTH} each agree within themselves but not with each other{said}"
    assert certificate.undecided[0] == f"which of {BOTH} is wrong"
    line = {line.what: line.holds for line in certificate.lines}
    assert line["accelerations: augmented"] and not line["accelerations: energies"] and not line["accelerations: connection"]


def _with_fault(model, fault):
    system = dr.gallery.model(model).freeze()
    derivations = Derivations(system, Faulty(system, fault))
    certificate = compare_derivations(derivations, derivations.sample(4, seed=1)[0])
    assert not certificate.passed
    return certificate


@cache
def bicycle_derivations():
    derivations = Derivations(dr.gallery.bicycle().freeze())
    states = derivations.sample(4, seed=1)[0]
    assert compare_derivations(derivations, states).passed
    return derivations, states


def judged(kind):
    """The bicycle's certificate with checks of this class, on derivations that the tests of faults share."""
    shared, states = bicycle_derivations()
    derivations = object.__new__(kind)
    derivations.__dict__ |= {
        name: value for name, value in vars(shared).items() if name != "derivations"
    }  # those are the shared one's own
    return compare_derivations(derivations, states)


def test_a_wrong_radius_in_one_description_is_seen():
    system = dr.gallery.bicycle().freeze()
    wheels = tuple(w._replace(radius=Number(0.36)) if w.name == "front_wheel" else w for w in system.wheels)
    derivations = Derivations(system, Energies(replace(system, wheels=wheels)))
    certificate = compare_derivations(derivations, derivations.sample(4, seed=1)[0])
    assert not certificate.passed
    assert "each agree within themselves but not with each other; they already differ in: constraints" in certificate.verdict
    assert "cannot be decided: which of Newton–Euler (reduced, augmented)" in str(certificate)


@pytest.mark.parametrize("odd", ["reduced", "augmented", "by_energies", "by_connection"])
def test_a_fault_in_a_single_derivation_is_placed(odd):
    def slipped(self, state):
        answer = getattr(Derivations, odd)(self, state)
        return replace(answer, accelerations=answer.accelerations * (1 + 1e-6))

    certificate = judged(type("Slipped", (Derivations,), {odd: slipped}))
    assert not certificate.passed
    assert certificate.verdict.startswith(
        f"the derivation {odd.removeprefix('by_')!r} disagrees with the others, which agree among"
    )
    assert not any("which of" in what for what in certificate.undecided)


def test_a_fault_that_both_derivations_by_newton_and_euler_share_is_blamed_on_them():
    class Slipped(Derivations):
        def reduced(self, state):
            answer = super().reduced(state)
            return replace(answer, accelerations=1.001 * answer.accelerations)

        def augmented(self, state):
            answer = super().augmented(state)
            return replace(answer, accelerations=1.001 * answer.accelerations)

    certificate = judged(Slipped)
    assert certificate.verdict.endswith("the error is in the derivations by Newton–Euler")


def test_wrong_forces_with_right_accelerations_are_seen():
    class Light(Derivations):
        def augmented(self, state):
            answer = super().augmented(state)
            return replace(answer, forces=answer.forces * (1 + 1e-8))

    certificate = judged(Light)
    assert certificate.verdict == "all derivations give the same accelerations, but these checks fail: contact forces: augmented"


def test_a_wrong_derivative_is_seen(monkeypatch):
    exact = DerivativeCheck.exact
    monkeypatch.setattr(
        DerivativeCheck, "exact", lambda self, arguments: {n: m * (1 + 1e-5) for n, m in exact(self, arguments).items()}
    )
    certificate = certify(dr.gallery.chaplygin_sleigh(), count=3)
    failing = [line.what for line in certificate.lines if not line.holds]
    assert failing == ["Jacobian against complex step", "Jacobian against differences"]
    monkeypatch.setattr(
        DerivativeCheck, "exact", lambda self, arguments: {n: m * (1 + 1e-8) for n, m in exact(self, arguments).items()}
    )
    failing = [line.what for line in certify(dr.gallery.chaplygin_sleigh(), count=3).lines if not line.holds]
    assert failing == ["Jacobian against complex step"]  # the other is meant for what no complex number passes


# ---------------------------------------------------------------- what does not apply, and what is not unique


def test_two_derivations_say_what_cannot_be_decided():
    """A force in the body's own velocities has no meaning in Euler angles: the second family does not apply."""
    m = Model("dragged")
    body = m.body("disc", mass=1.0, inertia=(0.02, 0.04, 0.02))
    m.free(body)
    m.wheel("rim", body, radius=0.3)
    m.wrench("disc", force=("-0.3*disc_vx", 0, 0), axes="body")
    certificate = certify(m, count=4)
    assert certificate.passed, str(certificate)
    assert certificate.derivations == ("reduced", "augmented")
    assert certificate.undecided[0].startswith(
        "an error in the kinematics or contact rows, which reduced and augmented share: the"
    )
    assert "'disc_vx' does not exist in Euler-angle coordinates" in certificate.undecided[0]
    assert "power balance" in [line.what for line in certificate.lines]

    class Slipped(Derivations):
        def augmented(self, state):
            answer = super().augmented(state)
            return replace(answer, accelerations=1.001 * answer.accelerations)

    derivations = Slipped(m.freeze())
    certificate = compare_derivations(derivations, derivations.sample(3, seed=1)[0])
    assert certificate.verdict == "the derivations 'reduced' and 'augmented' disagree in their accelerations"
    assert certificate.undecided[0] == "which of the two derivations is wrong"


def two_wheels_on_one_axle(inertia: float = 0.02) -> Model:
    m = Model("cart")
    hull = m.body("hull", mass=2.0, center_of_mass=(0.2, 0, 0.1), inertia=(0.1, 0.2, 0.2))
    m.planar(hull)
    for name, side in (("left", 0.3), ("right", -0.3)):
        wheel = m.body(f"{name}_wheel", mass=0.5, inertia=(inertia, 2 * inertia, inertia))
        m.revolute(f"{name}_angle", hull, wheel, axis="y", at=(0, side, 0.3))
        m.wheel(name, wheel, radius=0.3)
    m.wrench("hull", force=(1.0, 2.0, 0))
    return m


def test_forces_that_are_not_unique_are_compared_by_what_they_do_together():
    derivations = Derivations(two_wheels_on_one_axle().freeze())
    states, _ = derivations.sample(4, seed=1)
    certificate = compare_derivations(derivations, states)
    assert certificate.passed, str(certificate)
    assert "resultant forces (Aᵀλ): energies" in [line.what for line in certificate.lines]
    assert not derivations.unique(states[0]).any()  # the sideways force of each wheel is anybody's guess

    class Light(Derivations):
        def by_energies(self, state):
            answer = super().by_energies(state)
            return replace(answer, together=answer.together * (1 + 1e-8))

    derivations = Light(two_wheels_on_one_axle().freeze())
    failing = [line.what for line in compare_derivations(derivations, states).lines if not line.holds]
    assert failing == ["resultant forces (Aᵀλ): energies"]


def test_wheels_without_inertia_have_a_derivation_less():
    """The mass matrix of the free tree has no inverse, and the connection needs one; rolling decides about the spins."""
    certificate = certify(two_wheels_on_one_axle(inertia=0.0), count=4)
    assert certificate.passed, str(certificate)
    assert certificate.derivations == ("reduced", "augmented", "energies")


def test_a_mechanism_that_is_treated_whole():
    """Two rods hinged 13 times over: more rows than are eliminated in symbols, nearly all of which repeat others."""
    m = Model("over_and_over")
    for name in ("upper", "lower"):
        m.planar(m.body(name, mass=0.3, center_of_mass=(0.1, 0, 0.01), inertia=(0.001, 0.002, 0.002)))
    m.frame("head", "upper", (0.2, 0, 0))
    for i in range(13):
        m.close_point(f"hinge_{i}", "head", "lower", axes="xy")
    m.wrench("lower", force=(0.3, 0.2, 0))
    certificate = certify(m, count=3)
    assert certificate.derivations == ("whole", "augmented", "recursive", "energies", "connection")
    assert certificate.passed, str(certificate)


# ---------------------------------------------------------------- source B's derivation


def test_skew_symmetry_and_projectors():
    """Ṁ − 2C is skew; P and Q are complementary projectors, orthogonal in the metric M, and D P = 0."""
    e = Energies(dr.gallery.bicycle().freeze())
    rng = np.random.default_rng(4)
    q, v = rng.uniform(-0.4, 0.4, len(e.names)), rng.normal(size=len(e.names))
    p, u = np.array([x.default for x in e.system.parameters]), np.zeros(3)
    reported = dict(zip((s.name for s in e.matrices().outputs), e.matrices()([0.0], q, v, u, p), strict=True))
    rate = ca.Function("rate", [e.q, e.v, e.p], [e.rate(ca.densify(e.mass))])(q, v, p).full()
    skew = rate - 2 * reported["C"]
    assert np.abs(skew + skew.T).max() < 1e-12 * np.abs(reported["M"]).max()
    onto, off = e.projectors()([0.0], q, v, u, p)
    assert onto + off == pytest.approx(np.eye(len(q)), abs=1e-12)
    assert onto @ onto == pytest.approx(onto, abs=1e-9)
    assert reported["D"] @ onto == pytest.approx(np.zeros_like(reported["D"]), abs=1e-9)
    assert onto.T @ reported["M"] @ off == pytest.approx(np.zeros_like(onto), abs=1e-7)


def test_energies_derivation_simulates_the_same_ride():
    start = {"speed": 4.6, "roll_rate": 0.5}
    method = dr.methods.DOP853(rtol=1e-10, atol=1e-12)
    other = dr.simulate(derive_by_energies(dr.gallery.bicycle()), 1.0, start=start, method=method)
    ours = dr.simulate(dr.gallery.bicycle(), 1.0, start=start, method=method)
    for name in ("lean", "steer", "speed", "heading"):
        assert other[name] == pytest.approx(ours[name], abs=1e-8)
    assert other["rear_wheel_height_multiplier"] == pytest.approx(ours["rear_wheel_normal_force"], rel=1e-7)
    assert other.energy_drift < 1e-9


# ---------------------------------------------------------------- command line


def test_command(capsys):
    assert main(["certify", "chaplygin_sleigh", "--states", "3"]) == 0
    assert "all derivations agree" in capsys.readouterr().out
    assert main(["certify", "chaplygin_sleigh", "--states", "3", "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["passed"] is True and reported["states"] == 3
    assert {line["what"]: line["allowed"] for line in reported["lines"]}["Jacobian against differences"] == 1e-6
    assert reported["undecided"] and reported["lines"][0]["where"]["sleigh_heading"]


def test_command_on_equations_typed_by_hand(capsys):
    assert main(["certify", "double_pendulum", "--states", "3"]) == 0
    reported = capsys.readouterr().out
    assert (
        "1 derivation (as typed)" in reported
        and "cannot be decided: whether these are the equations of the mechanism" in reported
    )


def test_command_tells_failure_by_its_status(tmp_path, capsys):
    for name, length in (("one", 0.7), ("two", 0.71)):
        m = Model(name)
        rod = m.parameter("l", length, "m")
        bob = m.body("bob", mass=1.0, center_of_mass=(0, 0, -rod))
        m.revolute("swing" if name == "one" else "turn", "ground", bob, axis="y")
        dr.write_model(m, tmp_path / f"{name}.toml")
    files = [str(tmp_path / "one.toml"), "--against", str(tmp_path / "two.toml")]
    assert main(["certify", *files, "--names", "swing=turn,swing_rate=turn_rate", "--states", "3", "--json"]) == 1
    reported = json.loads(capsys.readouterr().out)
    assert reported["passed"] is False and "parameter 'l' is 0.7 in the first and 0.71 in the second" in reported["verdict"]
    assert main(["certify", *files]) == 2
    assert "or relate them: names=" in capsys.readouterr().err
    assert main(["certify", *files, "--names", "swing"]) == 2
    assert "write A=B" in capsys.readouterr().err
    assert main(["certify", "bicycle", "--states", "0"]) == 2
    assert "one or more, got 0" in capsys.readouterr().err
    assert main(["certify", "bicycle", "--names", "a=b"]) == 2
    assert "give the second one" in capsys.readouterr().err
