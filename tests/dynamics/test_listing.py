"""The printed listing is executable: read back, it gives the kernel's numbers, for every model of the gallery."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import casadi as ca
import numpy as np
import pytest

import draisine as dr
from draisine.expr.expression import evaluate_number, names, parse
from draisine.model.model import Model
from draisine.program.equations import Quantity
from draisine.program.linear_solve import LinearSolveProgram
from draisine.program.program import DaeResidual
from draisine.symbolic.differential_algebraic import semi_explicit
from draisine.symbolic.rendering.document import document
from draisine.symbolic.rendering.formats import markdown, read_markdown, sympy_source
from draisine.symbolic.rendering.formulas import Latex, MathML, SymPy, formula
from draisine.symbolic.rendering.html import MATH_PROBE, webpage
from draisine.symbolic.rendering.listing import listing
from draisine.symbolic.rendering.named_formulas import Balance, Section, run_sections, unknowns_of


def contraption() -> Model:
    """Tilted ground, a ball joint, an unbalanced wheel, a spring, a damper by a table, a wrench that changes in time."""
    m = Model("contraption")
    frame = m.body(
        "frame", mass=3.0, center_of_mass=(0.1, 0.02, 0.2), inertia={"xx": 0.4, "yy": 0.5, "zz": 0.3, "xy": 0.02, "zx": -0.03}
    )
    wheel = m.body("wheel", mass=1.0, center_of_mass=(0.01, 0, 0), inertia=(0.05, 0.09, 0.05))
    bob = m.body("bob", mass=0.4, center_of_mass=(0.0, 0.1, -0.3), inertia=(0.02, 0.03, 0.01))
    m.free(frame)
    m.revolute("spin", frame, wheel, axis="y")
    m.spherical("swing", frame, bob, at=(0.1, 0.0, 0.4), orientation=[("x", 0.3)])
    m.wheel("rim", wheel, radius=0.3, tube=0.02)
    m.ground(slope=0.2, bank=-0.1)
    m.point("hook", frame, (0.2, 0.1, 0.3))
    m.point("wall", "ground", (1.0, 2.0, 1.5))
    m.spring("distance(hook, wall)", 30.0, rest=0.5, damping=2.0)
    m.table("drag", [-2.0, -1.0, 0.0, 1.0, 2.0], [3.0, 1.0, 0.0, -1.0, -3.0])
    m.generalized_force("spin", "drag(spin_rate) + where(spin_rate > 0.1, -0.2, 0.1)")
    m.generalized_force("spin", m.input("torque", "N*m"))
    m.wrench("hook", force=("2*t + 1", 0.5, -1.0), torque=(0.1, 0.2, 0.3), axes="body")
    return m


def swinging() -> dr.Equations:
    """A pendulum in Cartesian coordinates, given as it stands: index 3."""
    import sympy

    x, y, vx, vy, tension, g, length = sympy.symbols("x y vx vy tension g length")
    rates = {x: vx, y: vy, vx: -x * tension, vy: -y * tension - g}
    round_it = {"circle": x**2 + y**2 - length**2}
    return semi_explicit("pendulum", rates, constraints=round_it, unknowns=[tension], parameters={g: 9.81, length: 1.0})


def state(equations, seed: int, spread: float = 0.6) -> tuple[list[np.ndarray], list[float]]:
    rng = np.random.default_rng(seed)
    x, u = rng.uniform(-spread, spread, len(equations.states)), rng.uniform(-1, 1, len(equations.inputs))
    p = equations.default_parameters.copy()  # with the modes of contacts behind the parameters
    p[: len(equations.parameters)] *= rng.uniform(0.9, 1.1, len(equations.parameters))
    if len(equations.unilateral) > 1:  # all but the first are open: rows of several may contradict each other
        p[len(equations.parameters) :].reshape(len(equations.unilateral), -1)[1:, :2] = 0.0
    arguments = [np.array([0.3]), x, u, p]
    return arguments, [float(value) for part in arguments for value in part]


@pytest.mark.parametrize("name", list(dr.gallery.models()))
def test_printed_and_read_back_it_is_the_dynamics(name):
    model = dr.gallery.model(name)
    doc = document(model)
    equations = doc.equations
    iterates = isinstance(equations.dynamics, LinearSolveProgram) and equations.dynamics.iterates
    # where forces depend on reactions only states near the ground have a solution
    arguments, _ = state(equations, 7, spread=1e-4 if iterates else 0.05)
    arguments[1] += [s.default for s in equations.states]
    if iterates:
        solution = equations.dynamics.solution(*arguments)
        wanted = np.concatenate([np.zeros(len(solution)), equations.dynamics(*arguments)[0]])
        arguments.append(solution)
    elif isinstance(equations.dynamics, DaeResidual):
        arguments.insert(2, np.random.default_rng(8).normal(size=len(equations.states)))
        wanted = equations.dynamics(*arguments)
    else:
        wanted = equations.dynamics(*arguments)[0]
    values = dict(zip(doc.listing.arguments, [float(v) for part in arguments for v in part], strict=True))
    known = run_sections(read_markdown(markdown(doc), doc.listing.arguments), values)
    # residuals of an iteration vanish to its own tolerance, in newtons
    allowed = 1e-9 if iterates else 1e-12
    assert [known[name] for name in doc.listing.results] == pytest.approx(wanted, rel=1e-12, abs=allowed)
    assert len(doc.listing.results) == len(wanted)


@pytest.mark.parametrize("name", ["bicycle", "delebecque_bicycle", "double_pendulum"])
def test_it_gives_the_kernels_numbers(name):
    model = dr.gallery.model(name)
    equations = model if isinstance(model, dr.Equations) else dr.derive(model, work=False)
    kernel, found = dr.codegen.compile(equations.dynamics), listing(model)
    for seed in range(3):
        arguments, _ = state(equations, seed, spread=0.05)
        arguments[1] += [s.default for s in equations.states]
        values = dict(zip(found.arguments, [float(v) for part in arguments for v in part], strict=True))
        known, wanted = found.evaluate(values), np.array(kernel(*arguments)[0])
        got = np.array([known[name] for name in found.results])
        # multipliers of the 23 coordinates reach 10⁴, and pivots are chosen differently
        assert np.abs(got - wanted).max() < 1e-12 * max(1.0, np.abs(wanted).max())


def test_contraption_with_functions_of_its_own():
    """Tables are no formulas; the listing keeps them beside it."""
    model = contraption()
    found, equations = listing(model), dr.derive(model, work=False)
    arguments, flat = state(equations, 7)
    known = found.evaluate(dict(zip(found.arguments, flat, strict=True)))
    assert [known[name] for name in found.results] == pytest.approx(equations.dynamics(*arguments)[0], rel=1e-12, abs=1e-12)
    assert set(found.functions) == {"drag"}


def test_a_system_that_nobody_has_solved_lists_its_residuals():
    equations = swinging()
    assert isinstance(equations.dynamics, DaeResidual)
    found = listing(equations)
    unknowns = ("x", "y", "vx", "vy", "tension")
    assert found.arguments[1:11] == (*unknowns, *(f"{name}_dot" for name in unknowns))
    rng = np.random.default_rng(1)
    x, rate = rng.normal(size=5), rng.normal(size=5)
    p = equations.default_parameters
    known = found.evaluate(dict(zip(found.arguments, [0.0, *x, *rate, *p], strict=True)))
    wanted = equations.dynamics([0.0], x, rate, [], p)
    assert [known[name] for name in found.results] == pytest.approx(wanted, rel=1e-13)
    assert known["residual_circle"] == pytest.approx(x[0] ** 2 + x[1] ** 2 - 1.0)
    page = webpage(document(equations))
    assert "Residuals, all of which vanish" in page and "5 unknowns, 1 of them algebraic" in page


def test_linear_equations_stand_in_the_listing():
    """Spherical pendulum in Cartesian coordinates: m ẍ = λ x/l, and so on, with the rod's own equation."""
    found = listing(dr.gallery.model("spherical_pendulum"))
    (solved,) = [section for section in found.sections if section.balances]
    assert solved.unknowns == ("x_rate_dot", "y_rate_dot", "z_rate_dot", "rod_multiplier")
    lines = [f"{b.left} = {b.right}" for b in solved.balances]
    assert lines[0] == "m_bob*x_rate_dot - A_rod_x_rate*rod_multiplier = 0"
    assert lines[3] == "A_rod_x_rate*x_rate_dot + A_rod_y_rate*y_rate_dot + A_rod_z_rate*z_rate_dot = F_rod"
    rows = {a.name: str(a.expression) for a in found.assignments}
    assert rows["A_rod_x_rate"] == "x/l_rod" and rows["F_z_rate"] == "-(gravity*m_bob)"


def test_forces_that_depend_on_reactions_are_listed_as_residuals():
    """A block pushed along a floor with friction that grows with its reaction: Newton's method solves for both together."""
    x, u, p, z = ca.SX.sym("x", 2), ca.SX.sym("u", 0), ca.SX.sym("p", 2), ca.SX.sym("z", 2)
    t, mass, mu = ca.SX.sym("t"), p[0], p[1]
    inputs = {"t": (t, ["t"]), "x": (x, ["s", "v"]), "u": u, "p": (p, ["mass", "mu"])}
    side = ca.vertcat(10.0 - mu * ca.sqrt(1 + z[1] ** 2) * ca.tanh(x[1]), mass * 9.81)
    matrix = ca.SX(ca.diag(ca.vertcat(mass, 1)))
    start = ca.SX.zeros(2)
    dynamics = LinearSolveProgram.build("block", inputs, matrix, side, z, {"xdot": ca.vertcat(x[1], z[0])}, start=start)
    assert dynamics.iterates
    base = dr.gallery.model("cart_pole")
    block = replace(
        base,
        name="block",
        coordinates=(Quantity("s", "m"),),
        velocities=(Quantity("v", "m/s"),),
        independent=("v",),
        inputs=(),
        parameters=(Quantity("mass", "kg"), Quantity("mu")),
        multipliers=(Quantity("floor_multiplier", "N"),),
        extra_states=(),
        dynamics=dynamics,
    )
    found = listing(block)
    assert found.arguments == ("t", "s", "v", "mass", "mu", "v_dot", "floor_multiplier")
    assert found.results == ("residual_v", "residual_floor", "s_dot", "v_dot")
    at = ([0.0], [0.3, 0.7], [], [2.0, 0.4])
    solution = dynamics.solution(*at)
    known = found.evaluate(dict(zip(found.arguments, [0.0, 0.3, 0.7, 2.0, 0.4, *solution], strict=True)))
    assert [known["residual_v"], known["residual_floor"]] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert known["floor_multiplier"] == pytest.approx(2.0 * 9.81)
    assert [known["s_dot"], known["v_dot"]] == pytest.approx(dynamics(*at)[0], rel=1e-12)


def test_equations_that_cannot_be_solved_are_named():
    balances = (Balance("", parse("2*a + b"), parse("c")),)
    assert unknowns_of(balances, {"c"}) == ("a", "b")
    with pytest.raises(ValueError, match=r"'pair': 1 equations cannot be solved for 2 unknowns \(a, b\)"):
        run_sections([Section("pair", (), balances, ("a", "b"))], {"c": 1.0})


def test_names_are_defined_once_and_before_they_are_used():
    for model in (dr.gallery.bicycle(), contraption()):
        found = listing(model)
        known = set(found.arguments)
        for line in found.assignments:
            assert names(line.expression) <= known, line.name
            assert line.name not in known
            known.add(line.name)
        assert set(found.results) <= known


def test_quantities_are_named_after_their_meaning():
    found = listing(dr.gallery.bicycle())
    lines = {line.name: line for line in found.assignments}
    assert str(lines["frame_mass"].expression) == "m_frame + m_rear_wheel"
    assert str(lines["rear_wheel_tilt"].expression) == "sqrt(frame_R_zz**2 + frame_R_zx**2)"
    assert "cosine of its lean" in lines["rear_wheel_tilt"].meaning
    for name in ("frame_R_zx", "H_frame_wz_frame_wx", "fork_omega_z", "frame_vx", "M_steer_rate_steer_rate", "F_steer_rate"):
        assert lines[name].meaning
    numbered = [name for name in lines if re.fullmatch(r"a\d+", name)]
    assert len(numbered) < 0.4 * len(lines)  # most have a meaning
    titles = [section.title for section in found.sections]
    assert titles.index("Body frame: place and mass") < titles.index("Contact of front_wheel with the ground")


def test_annotations_have_the_values_they_claim():
    """Names are given to nodes by structure; these are checked against what the words mean, computed by hand."""
    found, bicycle = listing(dr.gallery.bicycle()), dr.gallery.bicycle()
    equations = dr.derive(bicycle, work=False)
    arguments, _ = state(equations, 2)
    arguments[1][3:7] /= np.linalg.norm(arguments[1][3:7])
    known = found.evaluate(dict(zip(found.arguments, [float(v) for part in arguments for v in part], strict=True)))
    everything = dict(zip((v.name for v in equations.velocities), equations.report(*arguments)[0], strict=True))
    for name in ("frame_vx", "frame_vy", "frame_wy", "frame_wz", "rear_wheel_spin"):
        assert known[name] == pytest.approx(everything[name], rel=1e-11)
    w, x, y, z = arguments[1][3:7]
    assert known["frame_R_zx"] == pytest.approx(2 * (x * z - w * y), rel=1e-12)
    normal = np.array([known["frame_R_zx"], known["frame_R_zy"], known["frame_R_zz"]])
    assert np.linalg.norm(normal) == pytest.approx(1.0, rel=1e-12)
    radius = known["r_rear_wheel"]
    assert known["A_rear_wheel_y_frame_wx"] == pytest.approx(radius * normal[2] / np.hypot(normal[0], normal[2]), rel=1e-12)


def test_formats():
    doc = document(dr.gallery.bicycle())
    page = webpage(doc).replace(f"<script>{MATH_PROBE}</script>", "")  # the page's only script
    assert "http" not in page and "<script" not in page and "src=" not in page
    formulas = re.findall(r"<math>.*?</math>", page)
    assert len(formulas) == len(doc.listing.assignments)
    for text in (*formulas, *re.findall(r"<nav.*?</nav>", page, re.DOTALL), *re.findall(r"<math display.*?</math>", page)):
        ElementTree.fromstring(text)
    anchors = re.findall(r'<h[23] id="([^"]*)"', page)
    assert re.findall(r'href="#([^"]*)"', page) == anchors and len(set(anchors)) == len(anchors)
    assert '<meta name="viewport"' in page and "prefers-color-scheme: dark" in page
    assert page.index("Listing</h2>") < page.index("Parameters</h2>")  # the equations come first
    assert "<msub><mi>frame</mi><mtext>wx</mtext></msub>" in page
    for words in ("wheelbase", "front_wheel_height", "steer_torque", "fork: joint steer on frame (steer)"):
        assert words in markdown(doc) and words in page


def test_formulas_keep_their_meaning():
    expression = parse("-(a - (b - c))*d/(e*f)**2 - (-2*g) + where(a < b, sqrt(c), abs(d)) + 1e-07")
    assert formula(expression, Latex()) == (
        r"\frac{- \left(a - \left(b - c\right)\right) \, d}{\left(e \, f\right)^{2}} - \left(-2 \, g\right) + "
        r"\operatorname{where}\left(a < b, \sqrt{c}, \left|d\right|\right) + 1 \cdot 10^{-7}"
    )
    ElementTree.fromstring(f"<math>{formula(expression, MathML())}</math>")
    import sympy

    values = {"a": 0.3, "b": 0.7, "c": 1.9, "d": -0.4, "e": 1.2, "f": 0.8, "g": 2.5}
    scope = {name: sympy.Symbol(name, real=True) for name in values}
    text = formula(expression, SymPy())
    found = _run(f"result = {text}", {**{n: getattr(sympy, n) for n in dir(sympy) if not n.startswith("_")}, **scope})["result"]
    assert float(found.subs({scope[n]: v for n, v in values.items()})) == pytest.approx(evaluate_number(expression, values))


def _run(source: str, scope: dict | None = None) -> dict:
    scope = scope or {}
    exec(compile(source, "listing", "exec"), scope)  # our own print, never text from elsewhere
    return scope


def test_sympy_source_is_the_dynamics_and_holds_the_matrices_of_small_systems():
    import sympy

    m = Model("cart_pole")
    cart = m.body("cart", mass=m.parameter("M", 2.0, "kg"))
    pole = m.body("pole", mass=m.parameter("m", 0.3, "kg"), center_of_mass=(0, 0, m.parameter("lambda", 0.5, "m")))
    m.prismatic("x", "ground", cart, axis="x")
    m.revolute("theta", cart, pole, axis="y")
    m.generalized_force("x", m.input("F", "N"))
    equations = dr.derive(m, work=False)
    found = _run(sympy_source(document(m)))
    arguments, flat = state(equations, 4)
    labels = [label for slot in equations.dynamics.inputs for label in slot.labels]
    values = {sympy.Symbol(label, real=True): value for label, value in zip(labels, flat, strict=True)}
    got = [float(entry) for entry in found["xdot"].subs(values)]
    assert got == pytest.approx(equations.dynamics(*arguments)[0], rel=1e-12, abs=1e-12)
    mass = np.array(found["mass_matrix"].subs(values), dtype=float)
    p = dict(zip((q.name for q in equations.parameters), arguments[3], strict=True))
    coupling = p["m"] * p["lambda"] * np.cos(arguments[1][1])
    assert mass == pytest.approx(np.array([[p["M"] + p["m"], coupling], [coupling, p["m"] * p["lambda"] ** 2]]), rel=1e-12)
    assert "mass_matrix" not in sympy_source(document(dr.gallery.snakeboard()))


def test_sympy_source_of_typed_equations_gives_matrix_and_side():
    import sympy

    equations = dr.gallery.model("double_pendulum")
    found = _run(sympy_source(document(equations)))
    arguments, flat = state(equations, 4)
    labels = [label for slot in equations.dynamics.inputs for label in slot.labels]
    values = {sympy.Symbol(label, real=True): value for label, value in zip(labels, flat, strict=True)}
    matrix, side = (np.array(found[name].subs(values), dtype=float) for name in ("linear_matrix", "linear_side"))
    solution = np.linalg.solve(matrix, side)[:, 0]
    values |= {unknown: value for unknown, value in zip(found["unknowns"], solution, strict=True)}
    got = [float(entry) for entry in found["xdot"].subs(values)]
    assert got == pytest.approx(equations.dynamics(*arguments)[0], rel=1e-12)


def test_a_line_that_is_no_formula_is_named():
    with pytest.raises(ValueError, match="'name = formula', got 'nonsense'"):
        read_markdown("```equations\nnonsense\n```\n")
