"""Systems 0 = F(t, x, ẋ) whose rates enter in fixed combinations only run as they are posed; those of index 3 start; modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from numpy.typing import NDArray
from scipy.linalg import eig, expm
from sympy.physics.mechanics import dynamicsymbols

import draisine as dr
from dynamics import ivp_problems as ivp

t = dynamicsymbols._t
TIGHT = dr.methods.Radau(rtol=1e-9, atol=1e-11)


def unknowns(count: int) -> tuple[tuple[Any, ...], tuple[Any, ...], dict[Any, Any]]:
    y, dy = sp.symbols(f"y1:{count + 1}"), sp.symbols(f"dy1:{count + 1}")
    return y, dy, dict(zip(y, dy, strict=True))


# ---------------------------------------------------------------- the test set


def test_the_transistor_amplifier() -> None:
    """Published at t = 0.2 s (PSIDE, tolerance 1e-14)."""
    run = dr.simulate(ivp.transistor_amplifier(), ivp.AMPLIFIER_END, method=TIGHT)
    assert run.status.complete
    for name, value in ivp.AMPLIFIER.items():
        assert run[name][-1] == pytest.approx(value, abs=1e-6)
    text = run.summary()
    assert "leading matrix is singular (3 combinations of rates missing)" in text.replace("\n              ", " ")


def test_andrews_mechanism_of_index_three() -> None:
    """Published at t = 0.03 s; λ at the start too."""
    run = dr.simulate(ivp.andrews_index_three(), ivp.ANDREWS_END)
    assert run["l1"][0] == pytest.approx(98.566870396241090, rel=1e-9)
    assert run["l2"][0] == pytest.approx(-6.122688344255663, rel=1e-9)
    for name, value in ivp.ANDREWS.items():
        assert run[name][-1] == pytest.approx(value, abs=1e-6)
    for name, value in ivp.ANDREWS_SPEEDS.items():
        assert run[name][-1] == pytest.approx(value, abs=5e-3)  # of index 2, up to 1400 rad/s
    assert "reduction" not in run.scene


@pytest.mark.parametrize("make", [ivp.andrews_typed, ivp.andrews_graph])
def test_andrews_mechanism_as_a_mechanism(make: Any) -> None:
    run = dr.simulate(make(), ivp.ANDREWS_END, method=dr.methods.DOP853(rtol=1e-10, atol=1e-12))
    for name, value in ivp.ANDREWS.items():
        assert run[name][-1] == pytest.approx(value, abs=1e-8)
    for name, value in ivp.ANDREWS_SPEEDS.items():
        assert run[name][-1] == pytest.approx(value, rel=1e-7)
    assert run.energy_drift is not None and run.energy_drift < 1e-9


def test_time_in_the_leading_matrix() -> None:
    """ẏ₁ − t ẏ₂ + y₁ − (1 + t) y₂ = 0, y₂ = sin t (Petzold 1982): y₁ = e⁻ᵗ + t sin t."""
    y, dy, rates = unknowns(2)
    rows = [dy[0] - t * dy[1] + y[0] - (1 + t) * y[1], y[1] - sp.sin(t)]
    run = dr.simulate(dr.symbolic.implicit("petzold", rows, y, rates=rates, start={y[0]: 1}), 3.0, method=TIGHT)
    assert run["y1"] == pytest.approx(np.exp(-run.time) + run.time * np.sin(run.time), abs=1e-7)
    assert run["y2"] == pytest.approx(np.sin(run.time), abs=1e-9)


@pytest.mark.parametrize("eta", [-0.8, 0.5, 2.0])
def test_index_two_with_time_in_the_leading_matrix(eta: float) -> None:
    """y₁ + ηt y₂ = e⁻ᵗ, ẏ₁ + ηt ẏ₂ + (1 + η) y₂ = 0 (Gear & Petzold 1984): y₂ = e⁻ᵗ; the methods of Euler and Gear fail."""
    y, dy, rates = unknowns(2)
    rows = [y[0] + eta * t * y[1] - sp.exp(-t), dy[0] + eta * t * dy[1] + (1 + eta) * y[1]]
    run = dr.simulate(dr.symbolic.implicit("gear", rows, y, rates=rates, start={y[0]: 1, y[1]: 1}), 3.0, method=TIGHT)
    assert run.status.complete
    for name, exact in (("y2", np.exp(-run.time)), ("y1", (1 - eta * run.time) * np.exp(-run.time))):
        assert run[name][-1] == pytest.approx(exact[-1], abs=1e-9)
        assert run[name] == pytest.approx(exact, abs=2e-6)  # interpolated


@pytest.mark.parametrize("rtol", [1e-5, 1e-7, 1e-9])
def test_coefficients_that_change_cost_no_accuracy(rtol: float) -> None:
    """Algebraic equations whose coefficients depend on time and state: a Jacobian that is kept does not show in one iteration."""
    x, y, z = sp.symbols("x y z")
    rows = {x: x + t * y / 2 - sp.exp(-t), y: (1 + z) * y - sp.cos(2 * t)}
    e = dr.symbolic.semi_explicit("changing", {z: x - z + sp.sin(t)}, algebraic=rows)
    run = dr.simulate(e, 4.0, method=dr.methods.Radau(rtol=rtol, atol=rtol / 100))
    assert run.status.complete
    from scipy.integrate import solve_ivp

    def solution(now: Any, z: Any) -> tuple[Any, Any]:
        second = np.cos(2 * now) / (1 + z)
        return np.exp(-now) - now * second / 2, second

    exact = solve_ivp(
        lambda now, z: solution(now, z)[0] - z + np.sin(now), (0.0, 4.0), [0.0], rtol=1e-12, atol=1e-13, t_eval=run.time,
        method="DOP853",
    )  # fmt: skip
    assert run["z"] == pytest.approx(exact.y[0], abs=20 * rtol)
    x_exact = solution(run.time, exact.y[0])[0]
    assert run["x"][-1] == pytest.approx(x_exact[-1], abs=20 * rtol)
    assert run["x"] == pytest.approx(x_exact, abs=200 * rtol)  # interpolated


# ---------------------------------------------------------------- random members


def random_pencil(random: np.random.Generator, size: int, rank: int) -> tuple[Any, Any, Any, Any, Any]:
    """E ẏ + A y = 0 of index 1: P diag(I, 0) Q, P diag(K, I) Q, with mixed rows and columns; and K, P, Q."""
    left, right = (np.linalg.qr(random.normal(size=(size, size)))[0] + 0.3 * random.normal(size=(size, size)) for _ in range(2))
    slow = random.normal(size=(rank, rank)) + 1.5 * np.eye(rank)
    leading, rest = np.zeros((size, size)), np.eye(size)
    leading[:rank, :rank] = np.eye(rank)
    rest[:rank, :rank] = slow
    return left @ leading @ right, left @ rest @ right, slow, left, right


@pytest.mark.parametrize("seed", range(6))
def test_random_linear_systems_of_index_one(seed: int) -> None:
    """y = Q⁻¹ (e^{−K t} c, 0); eigenvalues are those of −K."""
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 6))
    rank = int(random.integers(1, size))
    leading, rest, slow, _, right = random_pencil(random, size, rank)
    y, dy, rates = unknowns(size)
    rows = list(sp.Matrix(leading) * sp.Matrix(dy) + sp.Matrix(rest) * sp.Matrix(y))
    first = np.zeros(size)
    first[:rank] = random.normal(size=rank)
    start = np.linalg.solve(right, first)
    e = dr.symbolic.implicit("pencil", rows, y, rates=rates, start=dict(zip(y, start, strict=True)))
    run = dr.simulate(e, 1.0, method=TIGHT)
    assert run.status.complete and "singular" in run.summary()
    expected = np.linalg.solve(right, np.concatenate([expm(-slow) @ first[:rank], np.zeros(size - rank)]))
    found = np.array([run[s.name][-1] for s in y])
    assert found == pytest.approx(expected, abs=1e-7 * (1 + np.abs(expected).max()))
    values = dr.linearize(e).eigenvalues
    assert _sorted(values) == pytest.approx(_sorted(np.linalg.eigvals(-slow)), abs=1e-8)


def _sorted(values: NDArray[Any]) -> NDArray[Any]:
    return np.array(sorted(np.asarray(values, dtype=complex), key=lambda z: (round(z.real, 6), round(z.imag, 6))))


@pytest.mark.parametrize("seed", range(4))
def test_random_circuits(seed: int) -> None:
    """A chain of nodes with capacitors between them and resistors with a cubic characteristic to the ground: the nodes behind
    the last capacitor float together. Reference: the charges as unknowns, ordinary equations in SciPy."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import root

    random = np.random.default_rng(40 + seed)
    count = int(random.integers(2, 5))
    capacity, conductance = random.uniform(0.5, 2.0, count - 1), random.uniform(0.3, 2.0, count)
    y, dy, rates = unknowns(count)

    def load(k: int, v: Any, now: Any, sin: Any) -> Any:
        return conductance[k] * (v - (sin(2 * now) if k == 0 else 0.0)) + 0.2 * v**3

    # currents through capacitors: dq_k/dt = capacity_k (dy_k − dy_{k+1})
    flow = [capacity[k] * (dy[k] - dy[k + 1]) for k in range(count - 1)]
    rows = [(flow[k] if k < count - 1 else 0) - (flow[k - 1] if k else 0) + load(k, y[k], t, sp.sin) for k in range(count)]
    run = dr.simulate(dr.symbolic.implicit("chain", rows, y, rates=rates), 4.0, method=TIGHT)
    assert run.status.complete and "(1 combination of rates missing)" in run.summary().replace("\n              ", " ")

    def voltages(now: float, charge: NDArray[np.float64]) -> NDArray[np.float64]:
        def balance(last: NDArray[np.float64]) -> float:
            v = np.concatenate([np.cumsum((charge / capacity)[::-1])[::-1] + last, last])
            return sum(load(k, v[k], now, np.sin) for k in range(count))

        last = root(balance, np.zeros(1), tol=1e-14).x
        return np.concatenate([np.cumsum((charge / capacity)[::-1])[::-1] + last, last])

    def slope(now: float, charge: NDArray[np.float64]) -> NDArray[np.float64]:
        v = voltages(now, charge)
        currents = [load(k, v[k], now, np.sin) for k in range(count)]
        return np.array([-sum(currents[: k + 1]) for k in range(count - 1)])

    reference = solve_ivp(slope, (0.0, 4.0), np.zeros(count - 1), rtol=1e-10, atol=1e-12)
    expected = voltages(4.0, reference.y[:, -1])
    assert np.array([run[s.name][-1] for s in y]) == pytest.approx(expected, abs=1e-7)
    assert np.abs(expected).max() > 1e-2


# ---------------------------------------------------------------- ensembles, modes


def test_an_ensemble_of_amplifiers_agrees_with_single_runs() -> None:
    e = ivp.transistor_amplifier()
    several = dr.ensemble(e, 0.02, {"amplitude": [0.05, 0.1]}, outputs=["u8"], method=TIGHT)
    for k, amplitude in enumerate((0.05, 0.1)):
        run = dr.simulate(e, 0.02, parameters={"amplitude": amplitude}, method=TIGHT)
        assert several["u8.end"][k] == pytest.approx(run["u8"][-1], abs=1e-7)


def test_modes_of_the_amplifier_without_signal() -> None:
    """Against the finite eigenvalues of λ ∂F/∂ẋ + ∂F/∂x at the working point, which SciPy finds."""
    from scipy.optimize import root

    e = ivp.transistor_amplifier()
    near = {"u1": 0.0, "u3": 2.8, "u4": 3.2, "u6": 2.8, "u7": 3.2}
    found = dr.modes(e, supply=np.array([5.5, 6.0]), parameters={"amplitude": 0.0}, near=near)
    rows, columns = e.dynamics.pattern
    for supply, values in zip((5.5, 6.0), found.eigenvalues, strict=True):
        p = np.array([supply, 0.0])
        point = root(lambda x, p=p: e.dynamics([0.0], x, np.zeros(8), [], p), [0, 2.9, 2.8, 3, 2.9, 2.8, 3, 0], tol=1e-14).x
        by_state, by_rate = np.zeros((8, 8)), np.zeros((8, 8))
        for matrix, entries in zip((by_state, by_rate), e.dynamics.jacobian([0.0], point, np.zeros(8), [], p), strict=True):
            matrix[rows, columns] = entries
        pencil = eig(-by_state, by_rate, right=False)
        finite = pencil[np.isfinite(pencil) & (np.abs(pencil) < 1e9)]
        assert np.sort(values.real) == pytest.approx(np.sort(finite.real), rel=1e-6)


def test_modes_of_semi_explicit_and_of_index_three() -> None:
    """A pendulum of 1 m with its force as unknown, hanging: ±i √g."""
    x, y, vx, vy, pull, g = sp.symbols("x y vx vy pull g")
    e = dr.symbolic.semi_explicit(
        "pendulum", {x: vx, y: vy, vx: -x * pull, vy: -y * pull - g}, constraints={"length": x**2 + y**2 - 1}, unknowns=[pull],
        parameters={g: 9.81}, start={y: -1.0, pull: 9.81},
    )  # fmt: skip
    values = dr.linearize(e).eigenvalues
    assert np.sort(values.imag) == pytest.approx([-np.sqrt(9.81), np.sqrt(9.81)])
    assert values.real == pytest.approx(0.0, abs=1e-12)
    swept = dr.modes(e, g=np.array([4.0, 9.0]), near={"y": -1.0})
    assert np.sort(np.abs(swept.eigenvalues[:, 0])) == pytest.approx([2.0, 3.0])


# ---------------------------------------------------------------- rates that are not determined on the way


@pytest.mark.parametrize("seed", range(6))
def test_a_singular_matrix_on_the_way_is_in_the_status(seed: int) -> None:
    """(t − a) ẏ = n y has the solutions C (t − a)ⁿ on each side of a: what follows a is not determined by what precedes it."""
    rng = np.random.default_rng(seed)
    a, power = float(rng.uniform(0.3, 2.7)), int(rng.integers(1, 4))
    y, dy, rates = unknowns(2)
    turn = np.array([[np.cos(1.0 + seed), -np.sin(1.0 + seed)], [np.sin(1.0 + seed), np.cos(1.0 + seed)]])
    rows = turn @ np.array([(t - a) * dy[0] - power * y[0], dy[1] + y[1] - y[0]])
    system = dr.symbolic.implicit("singular", list(rows), y, rates=rates, start={y[0]: 1, y[1]: 0})
    run = dr.simulate(system, 3.0)
    assert str(run.status.kind) == "SINGULAR"
    before = run.time < 0.9 * a
    np.testing.assert_allclose(run["y1"][before], (1.0 - run.time[before] / a) ** power, rtol=1e-4)
    assert str(dr.simulate(system, 0.95 * a).status.kind) == "FINISHED"
    many = dr.ensemble(system, 3.0, {"start.y1": [1.0, 2.0]}, outputs=["y1"])
    assert {str(status) for status in many["status"]} == {"SINGULAR"}


def test_matrices_that_vary_and_stay_regular_are_none() -> None:
    """(2 + sin 5t) ẏ = −y passes no singular matrix; a nonlinear rate that keeps its sign does not either."""
    y, dy, rates = unknowns(1)
    system = dr.symbolic.implicit("regular", [(2 + sp.sin(5 * t)) * dy[0] + y[0]], y, rates=rates, start={y[0]: 1})
    assert str(dr.simulate(system, 10.0).status.kind) == "FINISHED"
    system = dr.symbolic.implicit("cubic", [dy[0] ** 3 + dy[0] + y[0]], y, rates=rates, start={y[0]: 1})
    assert str(dr.simulate(system, 10.0).status.kind) == "FINISHED"
