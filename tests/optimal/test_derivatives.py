"""The large problem's derivatives against differences, on problems that use every kind of row."""

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.codegen import simd
from draisine.codegen.jit import modules
from draisine.codegen.jit.kernel import compile
from draisine.codegen.passes import BRIEF
from draisine.numerics.direct_methods import Collocation, MultipleShooting
from draisine.optimal import node_functions as nodes
from draisine.optimal.guess import guesses
from draisine.optimal.maneuver import maneuver
from draisine.optimal.phase_builder import build_phases, parameter_ranges
from draisine.optimal.transcription import transcribe


@pytest.fixture(scope="module")
def stated():
    """Time enters, a parameter is unknown, and there are costs, conditions and joints of all kinds."""
    x, v, w, force, a = sp.symbols("x v w force a")
    t = sp.Symbol("t")
    system = dr.first_order(
        "curved",
        {x: v * sp.cos(w) + sp.sin(t), v: force - a * v**3 * sp.sin(x), w: x * force},
        inputs=[force],
        parameters={a: 0.3},
    )
    first = (
        maneuver(system)
        .start(x=0.1, v=0.2, free=["w"])
        .finish("x*v >= 0.1", w=0.5)
        .bounds(force=(-3, 3))
        .along("x**2 + v*force <= 9")
        .minimize(integral="force**2*cos(x)", final="x*w**2", time=0.5)
        .optimize(a=(0.1, 0.9))
        .duration(0.5, 2)
    )
    second = maneuver(system).finish(x=1).minimize(integral="v**4").duration(0.5, 2)
    return first.then(second, jump={"v": "-0.8*v*cos(x) + 0.1*t"})


SCHEMES = [
    Collocation("radau", 3, 3),
    Collocation("gauss", 2, 3),
    Collocation("hermite-simpson", intervals=3),
    Collocation("trapezoidal", intervals=4),
    MultipleShooting(3, 2),
]


def sparse_nlp_of(stated, scheme):
    builders, phases = build_phases(stated, [scheme] * len(stated.phases))
    values = guesses(None, phases, [scheme.grid] * len(phases))
    link_expressions = [p.link_expressions(f.kept) for p, f in zip(builders[1:], phases[1:], strict=True)]
    return transcribe(phases, [scheme] * len(phases), values, parameter_ranges(stated), link_expressions)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: getattr(s, "scheme", "shooting"))
def test_derivatives_agree_with_differences(stated, scheme):
    made = sparse_nlp_of(stated, scheme)
    nlp, rng = made.nlp, np.random.default_rng(3)
    n, m = nlp.unknowns, nlp.rows
    w = made.guess + 0.2 * rng.uniform(-1, 1, n)
    weights = rng.uniform(-1, 1, m)

    def first(at):
        gradient, entries = nlp.jacobian(at)
        matrix = np.zeros((m, n))
        matrix[nlp.jacobian_indices] = entries
        return gradient, matrix

    gradient, matrix = first(w)
    hessian = np.zeros((n, n))
    hessian[nlp.hessian_indices] = nlp.hessian(w, 0.7, weights)
    hessian = hessian + np.triu(hessian, 1).T
    step = 1e-6
    for j in range(n):
        e = np.zeros(n)
        e[j] = step
        (f1, r1), (f0, r0) = nlp.values(w + e), nlp.values(w - e)
        assert gradient[j] == pytest.approx((f1 - f0) / (2 * step), abs=2e-8 * (1 + abs(gradient[j])))
        assert matrix[:, j] == pytest.approx((r1 - r0) / (2 * step), abs=2e-8)
        (g1, m1), (g0, m0) = first(w + e), first(w - e)
        expected = (0.7 * (g1 - g0) + weights @ (m1 - m0)) / (2 * step)
        assert hessian[:, j] == pytest.approx(expected, abs=5e-8)


@pytest.fixture(scope="module")
def turn():
    return (
        maneuver(dr.gallery.bicycle())
        .start(speed=8)
        .finish(heading=0.7, lean=0, steer=0, rates=0)
        .bounds(steer_torque=(-5, 5), pedal_torque=(-30, 30))
        .minimize("time")
    )


def test_nodes_side_by_side_are_those_one_by_one_whatever_the_threads(turn, monkeypatch):
    made = sparse_nlp_of(turn, Collocation(intervals=7))  # 21 nodes: the last lanes have none
    cluster, rng = made.nlp.terms[0].cluster, np.random.default_rng(7)
    w = (made.guess + 0.02 * rng.uniform(-1, 1, made.nlp.unknowns) * made.nlp.scale)[cluster.where]
    mu, numbers, formula = rng.uniform(-1, 1, (len(w), cluster.width)), cluster._d, cluster.formula

    def reported():
        return cluster.values(w), cluster.jacobian(w), cluster.hessian(w, mu)

    expected = (
        compile(formula.value, passes=BRIEF).map(w, numbers)[0],
        compile(formula.jacobian, passes=BRIEF).map(w, numbers)[0],
        _one_by_one(formula, w, numbers, mu),
    )
    monkeypatch.setattr(nodes, "PER_THREAD", 1)
    monkeypatch.setattr(nodes.os, "cpu_count", lambda: 8)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(nodes, "MOST_THREADS", threads)
        found.append(reported())
    for one_by_one, alone, *others in zip(expected, *found, strict=True):
        size = np.abs(one_by_one).max(axis=0)
        assert size.max() > 0.1 and (np.abs(alone - one_by_one) <= 1e-13 * size).all()
        assert all(np.array_equal(alone, other) for other in others)


def _one_by_one(formula, w, numbers, mu):
    """Entries of the Hessian by CasADi's own second derivatives, in its interpreter."""
    at, d, weights = formula.value.symbols() + [ca.SX.sym("mu", formula.width)]
    matrix = ca.hessian(ca.dot(weights, formula.value.function.call([at, d])[0]), at)[0]
    function, (one, other) = ca.Function("hessian", [at, d, weights], [matrix]), formula.hessian_indices
    return np.array([function(*row).full()[one, other] for row in zip(w, numbers, mu, strict=True)])


@pytest.mark.parametrize("seed", range(12))
def test_directions_give_every_entry_of_a_symmetric_matrix(seed):
    """Random sparsities, with rows without a diagonal and empty ones."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 15))
    matrix = rng.uniform(1, 2, (size, size)) * (rng.uniform(size=(size, size)) < rng.uniform(0.05, 0.9))
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    one, other = np.nonzero(np.triu(matrix))
    directions = nodes.Directions.of(one, other, size)
    assert len(directions.vectors) <= size
    factors = rng.uniform(-1, 1, (5, 1))
    found = directions.products(lambda factor, vectors: factor * (vectors @ matrix), factors)
    assert found == pytest.approx(factors * matrix[one, other], rel=1e-15)


def test_kernels_of_the_bicycle_agree_with_differences_and_leave_out_what_does_not_matter(turn):
    made = sparse_nlp_of(turn, Collocation(intervals=2))
    nlp, rng = made.nlp, np.random.default_rng(5)
    w = made.guess + 0.02 * rng.uniform(-1, 1, nlp.unknowns) * nlp.scale
    direction, weights = rng.uniform(-1, 1, nlp.unknowns), rng.uniform(-1, 1, nlp.rows)
    step = 1e-6

    def product(at):
        gradient, entries = nlp.jacobian(at)
        row, column = nlp.jacobian_indices
        return gradient + np.bincount(column, weights=entries * weights[row], minlength=nlp.unknowns)

    def value(at):
        objective, rows = nlp.values(at)
        return objective + weights @ rows

    slope = (value(w + step * direction) - value(w - step * direction)) / (2 * step)
    assert product(w) @ direction == pytest.approx(slope, rel=1e-6)
    one, other = nlp.hessian_indices
    entries = nlp.hessian(w, 1.0, weights)
    bent = np.bincount(one, entries * direction[other], nlp.unknowns)
    off = one != other
    bent += np.bincount(other[off], (entries * direction[one])[off], nlp.unknowns)
    differences = (product(w + step * direction) - product(w - step * direction)) / (2 * step)
    assert bent == pytest.approx(differences, abs=1e-5 * np.abs(differences).max())
    _, (phase,) = build_phases(turn, [Collocation()])
    assert phase.kept == ("frame_qw", "frame_qx", "frame_qy", "frame_qz", "steer", "frame_wx", "steer_rate", "front_wheel_spin")
    assert phase.controls == ("steer_torque", "pedal_torque")
    assert [name for name, _, _ in phase.dropped] == ["steer rate"]  # with the bar straight, no yaw rate means no steer rate


def test_jacobian_of_results_that_are_constant_or_linear():
    w, d = ca.SX.sym("w", 3), ca.SX.sym("d", 1)
    phi = ca.vertcat(ca.SX(2.0), 3 * w[0] - w[2], d * ca.sin(w[1]), d)
    cluster = nodes.CompiledCluster(nodes.Formula.build("some", w, d, phi), np.arange(6).reshape(2, 3), np.array([[2.0], [5.0]]))
    at = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    dense = np.zeros((2, 4, 3))
    rows, columns = cluster.jacobian_indices
    dense[:, rows, columns] = cluster.jacobian(at)
    expected = [[[0, 0, 0], [3, 0, -1], [0, f * np.cos(y), 0], [0, 0, 0]] for f, y in ((2.0, 0.2), (5.0, 0.5))]
    assert dense == pytest.approx(np.array(expected), abs=1e-15)


def test_equal_node_functions_are_compiled_once(monkeypatch, tmp_path):
    """Phases of equal equations and costs have equal code: its text is generated once, and all clusters evaluate it."""
    x, force = sp.symbols("x force")
    system = dr.first_order("twice", {x: force - x**3}, inputs=[force])
    phase = maneuver(system).minimize(integral="force**2").duration(1)
    stated = phase.start(x=0.2).then(phase.finish(x=0.6))
    monkeypatch.setenv("DRAISINE_CACHE_DIR", str(tmp_path / "cache"))
    made = sparse_nlp_of(stated, Collocation("radau", 2, 3))
    written = []
    text = simd.batch_text
    monkeypatch.setattr(modules, "batch_text", lambda program, *given: written.append(program.name) or text(program, *given))
    made.nlp.begin_compiling()()
    assert len(made.nlp.terms) > 2 and len(written) == len(set(written)) == 3
    clusters = [term.cluster for term in made.nlp.terms if isinstance(term.cluster, nodes.CompiledCluster)]
    w = np.linspace(0.1, 0.9, clusters[0].where.size).reshape(clusters[0].where.shape)
    one, other = (cluster.values(w) for cluster in clusters)
    assert len(clusters) == 2 and np.isfinite(one).all()
    assert (one == other).all()
