"""The listing for people is executable: read back from print, it gives the kernel's numbers."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import draisine as dr
from draisine.cli import main
from draisine.commands.equations import FORMATS as NAMED_FORMATS
from draisine.equations.writing.document import FORMATS, document, latex, markdown, read_markdown, sympy_source, webpage
from draisine.equations.writing.formulas import Latex, MathML, SymPy, formula
from draisine.equations.writing.listing import listing, run_lines
from draisine.model import Model
from draisine.program.expression import evaluate_number, names, parse

GRAPHS = ["bicycle", "rolling_disk", "rolling_torus", "unicycle", "chaplygin_sleigh", "snakeboard"]


def contraption() -> Model:
    """Tilted ground, a ball joint, an unbalanced wheel, a spring, a damper by a table, a wrench that changes in time."""
    m = Model("contraption")
    frame = m.body("frame", mass=3.0, centre=(0.1, 0.02, 0.2), inertia={"xx": 0.4, "yy": 0.5, "zz": 0.3, "xy": 0.02, "zx": -0.03})
    wheel = m.body("wheel", mass=1.0, centre=(0.01, 0, 0), inertia=(0.05, 0.09, 0.05))
    bob = m.body("bob", mass=0.4, centre=(0.0, 0.1, -0.3), inertia=(0.02, 0.03, 0.01))
    m.free(frame)
    m.revolute("spin", frame, wheel, axis="y")
    m.spherical("swing", frame, bob, at=(0.1, 0.0, 0.4), turned=[("x", 0.3)])
    m.wheel("rim", wheel, radius=0.3, tube=0.02)
    m.ground(slope=0.2, bank=-0.1)
    m.point("hook", frame, (0.2, 0.1, 0.3))
    m.point("wall", "ground", (1.0, 2.0, 1.5))
    m.spring("distance(hook, wall)", 30.0, rest=0.5, damping=2.0)
    m.table("drag", [-2.0, -1.0, 0.0, 1.0, 2.0], [3.0, 1.0, 0.0, -1.0, -3.0])
    m.effort("spin", "drag(spin_rate) + where(spin_rate > 0.1, -0.2, 0.1)")
    m.effort("spin", m.input("torque", "N*m"))
    m.wrench("hook", force=("2*t + 1", 0.5, -1.0), torque=(0.1, 0.2, 0.3), axes="body")
    return m


def state(equations, seed: int) -> tuple[list[np.ndarray], list[float]]:
    rng = np.random.default_rng(seed)
    x, u = rng.uniform(-0.6, 0.6, len(equations.states)), rng.uniform(-1, 1, len(equations.inputs))
    arguments = [np.array([0.3]), x, u, equations.default_parameters * rng.uniform(0.9, 1.1, len(equations.parameters))]
    return arguments, [float(value) for part in arguments for value in part]


def test_the_printed_bicycle_gives_the_kernels_numbers():
    bicycle = dr.gallery.bicycle()
    equations = dr.derive(bicycle, work=False)
    kernel = dr.compile(equations.dynamics)
    doc = document(bicycle)
    lines = read_markdown(markdown(doc))
    assert len(lines) == len(doc.listing.assignments) > 200
    for seed in range(3):
        arguments, flat = state(equations, seed)
        known = run_lines([(a.name, a.expression) for a in lines], dict(zip(doc.listing.arguments, flat, strict=True)))
        got = np.array([known[name] for name in doc.listing.results])
        wanted = np.array(kernel(*arguments)[0])
        assert got == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("model", [*(dr.gallery.model(name) for name in GRAPHS), contraption()], ids=lambda m: m.name)
def test_listings_are_the_dynamics(model):
    found, equations = listing(model), dr.derive(model, work=False)
    arguments, flat = state(equations, 7)
    known = found.evaluate(dict(zip(found.arguments, flat, strict=True)))
    wanted = equations.dynamics(*arguments)[0]
    assert [known[name] for name in found.results] == pytest.approx(wanted, rel=1e-12, abs=1e-12)


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


def test_meanings_have_the_values_they_claim():
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
    page = webpage(doc)
    assert "http" not in page and "<script" not in page and "src=" not in page
    formulas = re.findall(r"<math>.*?</math>", page)
    assert len(formulas) == len(doc.listing.assignments)
    for text in formulas:
        ElementTree.fromstring(text)
    text = latex(doc)
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert text.count(r"\left") == text.count(r"\right")
    assert text.count(r"\begin{") == text.count(r"\end{")
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
    pole = m.body("pole", mass=m.parameter("m", 0.3, "kg"), centre=(0, 0, m.parameter("lambda", 0.5, "m")))
    m.prismatic("x", "ground", cart, axis="x")
    m.revolute("theta", cart, pole, axis="y")
    m.effort("x", m.input("F", "N"))
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


def test_command(capsys, tmp_path):
    assert tuple(FORMATS) == NAMED_FORMATS
    assert main(["equations", "chaplygin_sleigh"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# Equations of chaplygin_sleigh") and read_markdown(printed)
    target = tmp_path / "sleigh.html"
    assert main(["equations", "chaplygin_sleigh", "--format", "html", "--out", str(target)]) == 0
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert main(["equations", "nothing_such"]) == 2
    assert "nothing_such" in capsys.readouterr().err


def test_hand_written_equations_are_refused(capsys):
    typed = [name for name in dr.gallery.models() if not isinstance(dr.gallery.model(name), Model)]
    for name in typed[:1]:
        assert main(["equations", name]) == 2
        assert "typed as formulas already" in capsys.readouterr().err


def test_a_line_that_is_no_formula_is_named():
    with pytest.raises(ValueError, match="'name = formula', got 'nonsense'"):
        read_markdown("```equations\nnonsense\n```\n")
