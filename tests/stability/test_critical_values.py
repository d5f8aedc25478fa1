"""Critical values against exact characteristic polynomials: none false, none missing, whatever the sweep and the symmetry."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import draisine as dr
from draisine.numerics.spectrum import Spectrum
from draisine.stability.bracket_solver import BEGINS, ENDS
from draisine.stability.critical import Critical, critical_values
from draisine.stability.mode_names import PAIR, ZERO

S, L = sp.symbols("s lambda")


class Given:
    """Matrices Σ sʲ Aⱼ in place of a family of steady motions."""

    def __init__(self, *parts: Any) -> None:
        self.parts = [np.array(part, dtype=float) for part in parts]

    def matrices(self, points: Any) -> Any:
        s = np.asarray(points, dtype=float).reshape(-1)
        a = sum(s[:, None, None] ** j * part for j, part in enumerate(self.parts))
        return SimpleNamespace(A=a, found=np.ones(len(s), dtype=bool))


class Unnamed:
    def crossing(self, ends: Any, eigenvalue: complex) -> str:
        return PAIR if eigenvalue else ZERO


def found_in(given: Given, values: Any) -> list[Critical]:
    return critical_values(given, "s", np.asarray(values, dtype=float), Unnamed())  # type: ignore[arg-type]


def growing(given: Given, s: float) -> int:
    return int((np.linalg.eigvals(given.matrices([s]).A[0]).real > 1e-9).sum())


def exact(parts: list[Any], low: int, high: int) -> list[tuple[str, float]]:
    """Zeros of the determinant, of the last but one Hurwitz determinant at pairs, and of the discriminant at real double roots,
    from the polynomial in rational numbers. Zeros of even order are no changes: modes that touch the axis, or each other."""
    n = len(parts[0])
    a = sum((S**j * sp.Matrix(part.tolist()) for j, part in enumerate(parts)), sp.zeros(n, n))
    p = sp.Poly(a.charpoly(L).as_expr(), L)
    c = [sp.expand(x) for x in p.all_coeffs()]
    hurwitz = sp.Matrix(n - 1, n - 1, lambda i, j: c[2 * j - i + 1] if 0 <= 2 * j - i + 1 <= n else 0)
    tests = {ZERO: c[-1], PAIR: hurwitz.det(method="berkowitz"), BEGINS: sp.discriminant(p.as_expr(), L)}
    found = []
    for kind, test in tests.items():
        factors = sp.Poly(test, S).sqf_list()[1] if test != 0 else []
        odd = [root for factor, order in factors if order % 2 for root in factor.nroots(n=30, maxsteps=200)]
        for root in odd:
            if abs(sp.im(root)) > 1e-20 or not low <= sp.re(root) <= high:
                continue
            at = sp.re(root)
            roots = sp.Poly([x.subs(S, at) for x in c], L).nroots(n=25, maxsteps=400)
            if kind == ZERO or (kind == PAIR and any(abs(sp.re(z)) < 1e-9 and sp.im(z) > 1e-6 for z in roots)):
                found.append((kind, float(at)))
            elif kind == BEGINS:
                first = min(((abs(z - y), (z + y) / 2) for i, z in enumerate(roots) for y in roots[:i]), key=lambda one: one[0])
                if abs(sp.im(first[1])) < 1e-9:
                    found.append((kind, float(at)))
    return sorted(found, key=lambda one: one[1])


@pytest.mark.parametrize("seed", [*range(12), 1029])
def test_random_matrices(seed: int) -> None:
    """All critical values of A₀ + s A₁ with random integers, by a fine sweep and by its ends alone."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    parts = [rng.integers(-4, 5, (n, n)) for _ in range(2)]
    given, wanted = Given(*parts), exact(parts, -2, 2)
    for count in (2, 41):
        found = found_in(given, np.linspace(-2, 2, count))
        assert [c.kind.replace(ENDS, BEGINS) for c in found] == [kind for kind, _ in wanted], (found, wanted)
        for c, (_, value) in zip(found, wanted, strict=True):
            assert c.value == pytest.approx(value, rel=1e-10, abs=1e-10)
        assert growing(given, 2.0) - growing(given, -2.0) == sum(c.change for c in found)


@pytest.mark.parametrize("seed", [*range(6), 1031, 1048])
def test_copies_of_one_machine(seed: int) -> None:
    """A machine twice or three times, in mixed coordinates: every critical value as many times."""
    rng = np.random.default_rng(100 + seed)
    n, copies = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    parts = [rng.integers(-4, 5, (n, n)).astype(float) for _ in range(2)]
    turn = np.linalg.qr(rng.standard_normal((n * copies, n * copies)))[0]
    several = Given(*(turn @ np.kron(np.eye(copies), part) @ turn.T for part in parts))
    one, found = found_in(Given(*parts), [-2, 2]), found_in(several, np.linspace(-2, 2, 21))
    assert [c.kind for c in found] == [c.kind for c in one for _ in range(copies)]
    np.testing.assert_allclose([c.value for c in found], [c.value for c in one for _ in range(copies)], rtol=0, atol=2e-8)
    assert growing(several, 2.0) - growing(several, -2.0) == sum(c.change for c in found)


class Meeting:
    """The companion matrix of a polynomial whose coefficients depend on s, beside modes that decay, in mixed coordinates."""

    def __init__(self, polynomial: Any, rng: np.random.Generator) -> None:
        self.polynomial, self.others = polynomial, -rng.uniform(0.5, 3, int(rng.integers(0, 3)))
        n = 3 + len(self.others)
        self.turn = np.linalg.qr(rng.standard_normal((n, n)))[0] * rng.uniform(0.5, 2, n)

    def matrices(self, points: Any) -> Any:
        s, n = np.asarray(points, dtype=float).reshape(-1), len(self.turn)
        a = np.zeros((len(s), n, n))
        a[:, [0, 1], [1, 2]] = 1.0
        a[:, range(3, n), range(3, n)] = self.others
        for k, value in enumerate(s):
            a[k, 2, :3] = -np.real(self.polynomial(value))[:0:-1]
        return SimpleNamespace(A=self.turn @ a @ np.linalg.inv(self.turn), found=np.ones(len(s), dtype=bool))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["cube root", "linear", "square root", "damped"])
def test_a_real_mode_and_a_pair_meet_at_zero(seed: int, kind: str) -> None:
    """A triple zero eigenvalue, defective: rounding moves it by 1e-5, but its critical value is known to 1e-8 all the same."""
    rng = np.random.default_rng(seed)
    at, (a, b, c) = float(rng.uniform(-1, 1)), rng.uniform(0.3, 2, 3) * rng.choice([-1, 1], 3)
    polynomial = {
        "cube root": lambda x: [1, 0, 0, -a * x],
        "linear": lambda x: np.poly([a * x, x * (b + 1j * c), x * (b - 1j * c)]),
        "square root": lambda x: np.polymul([1, -a * x], [1, 0, -b * x]),
        "damped": lambda x: np.polymul([1, -a * x], [1, -c * x, -b * x]),
    }[kind]
    given: Any = Meeting(lambda s: polynomial(s - at), rng)
    near = [c for c in found_in(given, np.linspace(-2, 2, int(rng.integers(2, 40)))) if abs(c.value - at) < 1e-2]
    assert near
    np.testing.assert_allclose([c.value for c in near], at, rtol=0, atol=1e-8)
    assert growing(given, at + 0.05) - growing(given, at - 0.05) == sum(c.change for c in near)


def test_a_mode_that_touches_the_axis_is_no_crossing() -> None:
    """det A = 16 s², trace −3 − 8 s: one eigenvalue is −16 s²/3 near zero, and decays on both sides."""
    given = Given([[0, 0], [4, -3]], [[-4, 3], [0, -4]])
    for count in (2, 20, 21, 41):
        assert [c.kind for c in found_in(given, np.linspace(-0.1, 0.1, count))] == []


def conservative(rng: np.random.Generator, n: int) -> tuple[Given, Any, Any]:
    """M q̈ + (K₀ + s K₁) q = 0 with M and K₁ positive: every mode passes zero once, and nothing else happens."""
    mass, k1 = (b @ b.T + 0.3 * np.eye(n) for b in rng.standard_normal((2, n, n)))
    k0 = rng.standard_normal((n, n))
    k0 = k0 + k0.T
    zero, one = np.zeros((n, n)), np.eye(n)
    first = np.block([[zero, one], [-np.linalg.solve(mass, k0), zero]])
    return Given(first, np.block([[zero, zero], [-np.linalg.solve(mass, k1), zero]])), k0, k1


@pytest.mark.parametrize("seed", range(10))
def test_conservative_systems_have_no_false_crossings(seed: int) -> None:
    """Oscillations stay on the axis: critical are the generalized eigenvalues of the stiffness alone."""
    from scipy.linalg import eigh

    rng = np.random.default_rng(seed)
    given, k0, k1 = conservative(rng, int(rng.integers(1, 5)))
    wanted = [s for s in -eigh(k0, k1, eigvals_only=True)[::-1] if -6 < s < 6]
    found = found_in(given, np.linspace(-6, 6, int(rng.integers(3, 80))))
    np.testing.assert_allclose([c.value for c in found], wanted, rtol=0, atol=1e-9)
    assert all(c.kind == ZERO and c.change == -1 and c.eigenvalue == 0 for c in found)


@pytest.mark.parametrize("seed", range(6))
def test_gyroscopic_flutter(seed: int) -> None:
    """q̈ + s G q̇ − K q = 0 with K > 0 of two coordinates: stabilized where s² g² > (√k₁ + √k₂)², by two pairs that part on the
    axis."""
    rng = np.random.default_rng(seed)
    k1, k2, g = rng.uniform(0.5, 1.0), rng.uniform(1.5, 3.0), rng.uniform(0.5, 3.0)
    turn = rng.uniform(0, np.pi)
    c, s = np.cos(turn), np.sin(turn)
    k = np.array([[c, s], [-s, c]]) @ np.diag([k1, k2]) @ np.array([[c, -s], [s, c]])
    zero, one, spin = np.zeros((2, 2)), np.eye(2), g * np.array([[0, 1.0], [-1.0, 0]])
    given = Given(np.block([[zero, one], [k, zero]]), np.block([[zero, zero], [zero, -spin]]))
    stabilized = (np.sqrt(k1) + np.sqrt(k2)) / g
    found = found_in(given, np.linspace(0.01, 2 * stabilized, 30))
    pairs = [x for x in found if x.kind == PAIR]
    assert [x.change for x in pairs] == [-2] and pairs[0].value == pytest.approx(stabilized, rel=1e-9)
    assert [x.kind for x in found if x.kind != PAIR] == [BEGINS, BEGINS]  # of the growing and of the decaying modes
    begins = abs(np.sqrt(k1) - np.sqrt(k2)) / g
    np.testing.assert_allclose([x.value for x in found if x.kind == BEGINS], begins, rtol=1e-8)
    meet = np.sort([x.eigenvalue.real for x in found if x.kind == BEGINS])
    np.testing.assert_allclose(meet, np.array([-1, 1]) * (k1 * k2) ** 0.25, rtol=1e-7)


@pytest.mark.parametrize("width", [1e-1, 1e-2, 1e-3, 1e-4])
def test_a_narrow_island_between_two_values(width: float) -> None:
    """A pair that grows only within `width` of s = 0.3711: both ends, of a sweep of three values."""
    at = 0.3711
    parts = [np.array([[at**2 - width**2, 2.0], [-2.0, at**2 - width**2]]), -2 * at * np.eye(2), np.eye(2)]
    found = found_in(Given(*(-part for part in parts)), [0.0, 1.0, 5.0])
    assert [(c.kind, c.change) for c in found] == [(PAIR, 2), (PAIR, -2)]
    np.testing.assert_allclose([c.value for c in found], [at - width, at + width], rtol=0, atol=1e-9)
    assert all(c.eigenvalue.imag == pytest.approx(2.0) for c in found)


def test_beginning_and_end_of_an_oscillation() -> None:
    """λ² + 2 λ + 1 + s (1 − s): a pair for 0 < s < 1, real elsewhere."""
    a = [np.array([[0.0, 1.0], [-1.0, -2.0]]), np.array([[0.0, 0.0], [-1.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])]
    found = found_in(Given(*a), np.linspace(-0.37, 1.61, 7))
    assert [(c.kind, c.change) for c in found] == [(BEGINS, 0), (ENDS, 0)]
    np.testing.assert_allclose([c.value for c in found], [0.0, 1.0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_what_rounding_makes_of_zero_is_zero(seed: int) -> None:
    """λ² + 2 λ + 1 + s (1 − s), and A₀ s, in mixed coordinates: the value is 0.0, not 4e-17."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    turn = np.linalg.qr(rng.standard_normal((n + 2, n + 2)))[0]
    parts = [np.zeros((n + 2, n + 2)) for _ in range(3)]
    parts[0][:2, :2] = [[0.0, 1.0], [-1.0, -2.0]]
    parts[1][1, 0], parts[2][1, 0] = -1.0, 1.0
    parts[1][range(2, n + 2), range(2, n + 2)] = rng.uniform(0.3, 2.0, n) * rng.choice([-1, 1], n)
    given = Given(*[turn @ part @ turn.T for part in parts])
    found = found_in(given, np.linspace(-0.2 - 0.3 * rng.random(), 0.6 + 0.3 * rng.random(), int(rng.integers(2, 60))))
    assert len(found) == n + 1 and [c.value for c in found] == [0.0] * (n + 1)


def test_what_rounding_does_is_bounded() -> None:
    """Eigenvalues of perturbed matrices stay within the bound, simple or multiple, in any units."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        n = int(rng.integers(2, 6))
        values = rng.integers(-3, 4, n).astype(float)
        basis = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-3, 3, n)[:, None]
        a = basis @ np.diag(values) @ np.linalg.inv(basis)
        spectrum = Spectrum.of(a[None])
        np.testing.assert_array_less(np.abs(np.sort(spectrum.values[0].real) - np.sort(values)), 1e-6 + spectrum.errors[0].max())
        zero = np.abs(spectrum.values[0]) < 0.5
        assert (spectrum.zero[0] == zero).all(), (spectrum.values, spectrum.errors)
        assert (spectrum.cleaned[0][zero] == 0).all()


def test_equal_eigenvalues_are_known_no_better_than_the_entries() -> None:
    """v · 1, as of copies of a machine: where errors of the entries are as large as v, its eigenvalues are not known to grow."""
    rng = np.random.default_rng(6)
    for _ in range(60):
        n, v, error = int(rng.integers(2, 5)), 10.0 ** rng.uniform(-18, -3), 10.0 ** rng.uniform(-17, -14)
        moved = v * np.eye(n) + error * rng.uniform(-1, 1, (n, n))
        spectrum = Spectrum.of(v * np.eye(n)[None], np.full((n, n), error))
        grows = spectrum.growing[0]
        assert grows.all() or spectrum.zero[0].all()
        assert np.linalg.eigvals(moved).real.min() > 0 or not grows.any()
        assert grows.all() or v < 100 * n * error


# ---------------------------------------------------------------- machines


def bars(count: int, damping: float = 0.0) -> dr.Model:
    """Upright bars of 1 kg and 1 m, each on a spring at its hinge that balances its weight at 4.905 N·m/rad."""
    m = dr.Model(f"bars{count}")
    m.parameter("k", 3.0, "N*m/rad")
    m.parameter("g", 9.81, "m/s^2")
    m.gravity("g")
    for i in range(count):
        m.body(f"bar{i}", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3), center_of_mass=(0, 0, 0.5))
        m.revolute(f"a{i}", "ground", f"bar{i}", axis="y")
        m.spring(f"a{i}", "k", damping=damping)
    return m


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("points", [50, 51])
def test_bars_on_springs(count: int, points: int) -> None:
    """Also where the middle of the sweep is the critical value itself."""
    found = dr.modes(bars(count), k=np.linspace(0, 9.81, points))
    assert [(c.kind, c.change) for c in found.critical()] == [(ZERO, -1)] * count
    np.testing.assert_allclose([c.value for c in found.critical()], 4.905, rtol=0, atol=1e-12)
    assert len(found.states) == 2 * count
    assert {name.partition("_")[0].partition(" ")[0] for name in found.names} == {f"a{i}" for i in range(count)}
    assert not found.stable.any() and found.neutral[-1].all()


def test_damped_bars() -> None:
    """J λ² + d λ + k − m g l/2: critical at 4.905, oscillating from 4.905 + d²/4J."""
    found = dr.modes(bars(2, damping=0.3), k=np.linspace(0, 9.81, 51))
    np.testing.assert_allclose([c.value for c in found.critical()], [4.905] * 2 + [4.905 + 0.09 * 3 / 4] * 2, rtol=1e-12)
    assert [c.kind for c in found.critical()] == [ZERO] * 2 + [BEGINS] * 2
    np.testing.assert_array_equal(found.stable, found.values > 4.905)
    with pytest.raises(dr.errors.SolverError, match="several modes are critical together"):
        found.critical()[0].gradient()


def test_one_bar_has_a_gradient_at_its_double_root() -> None:
    """k = m g l/2: ∂k/∂g = 0.5, although the eigenvalue zero is double there."""
    (found,) = dr.modes(bars(1), k=np.linspace(0, 9.81, 51)).critical()
    assert found.gradient() == {"k": 0.0, "g": pytest.approx(0.5, abs=1e-12)}
    assert found.gradient_units == {"k": "", "g": "N*m/rad/(m/s^2)"}


@pytest.mark.parametrize("count", [40, 41])
def test_bicycle_without_gravity_in_the_middle(count: int) -> None:
    """Capsize at g = 0, and where det(g K₀ + v² K₂) = 0."""
    bike = dr.gallery.bicycle()
    found = dr.modes(bike, gravity=np.linspace(-9.81, 9.81, count), fixed={"speed": 5.0}, states=("lean", "steer"))
    assert found.states == ("lean", "steer", "frame_wx", "steer_rate")
    c = dr.bicycle.whipple_matrices(bike)
    at = [np.linalg.det(g * c.K0 + 25.0 * c.K2) for g in (1.0, 2.0)]  # g (a g + b)
    other = -(2 * at[0] - at[1] / 2) / (at[1] / 2 - at[0])
    assert [(x.kind, x.change) for x in found.critical()] == [("capsize", 1), ("capsize", -1)]
    assert [x.value for x in found.critical()] == [0.0, pytest.approx(other, rel=1e-12)]


def test_map_through_a_degenerate_middle() -> None:
    """Unstable below k = g/2, wherever the middle is."""
    found = dr.stability.stability_map(bars(2, damping=0.1), {"k": (0, 9.81, 21), "g": (0, 19.62, 21)})
    k, g = np.meshgrid(found.values["k"], found.values["g"], indexing="ij")
    clear = np.abs(k - g / 2) > 1e-9
    np.testing.assert_array_equal(found.unstable[clear], np.where(k < g / 2, 2, 0)[clear])


def test_disk_on_a_plane() -> None:
    """A uniform disk rolls upright above v² = g r/3 (Routh), one critical value; above it every mode is neutral."""
    disk = dr.gallery.rolling_disk()
    found = dr.modes(disk, speed=np.linspace(0.1, 3, 60))
    (critical,) = found.critical()
    assert critical.kind == ZERO and critical.change == -1
    values = {p.name: p.default for p in disk.freeze().parameters}
    radius = next(value for name, value in values.items() if name.startswith("r"))
    assert critical.value == pytest.approx((9.81 * radius / 3) ** 0.5, rel=1e-12)
    coarse = dr.modes(disk, speed=[0.1, 3.0]).critical()
    assert [c.value for c in coarse] == [pytest.approx(critical.value, rel=1e-12)]
    above = found.values > critical.value
    assert found.neutral[above].all() and not found.neutral[~above].all()
    assert "neutral" in " ".join(found.names)


@pytest.mark.parametrize("units", [1.0, 1e4])
@pytest.mark.parametrize("seed", range(6))
def test_modes_that_exchange_their_signs_are_both_listed(seed: int, units: float) -> None:
    """As many modes grow on both sides; their shapes distinguish them."""
    rng = np.random.default_rng(seed)
    c, n = rng.uniform(0.2, 0.8), 6
    turned = rng.normal(size=(n, n)) * np.geomspace(1.0, units, n)[:, None]
    slopes = np.array([rng.uniform(0.3, 2), -rng.uniform(0.3, 2)]) * rng.choice((-1, 1))
    rates = [*([0.0, 0.0] if seed % 2 else np.sort(rng.uniform(1, 5, 2)).tolist())]
    fixed, moved = np.diag(-np.arange(1.0, n + 1)), np.zeros((n, n))
    size = 1 if seed % 2 else 2
    for k, (slope, rate) in enumerate(zip(slopes, rates, strict=True)):
        block = slice(size * k, size * (k + 1))
        fixed[block, block] = np.array([[0.0, rate], [-rate, 0.0]])[:size, :size] - c * slope * np.eye(size)
        moved[block, block] = slope * np.eye(size)
    inverse = np.linalg.inv(turned)
    found = found_in(Given(turned @ fixed @ inverse, turned @ moved @ inverse), np.linspace(0, 1, (2, 11, 40)[seed % 3]))
    assert [f.value for f in found] == pytest.approx([c, c], abs=1e-9)
    expected = sorted((rate, size * int(np.sign(slope))) for rate, slope in zip(rates, slopes, strict=True))
    mine = sorted((round(f.eigenvalue.imag, 9), f.change) for f in found)
    assert [change for _, change in mine] == [change for _, change in expected]
    assert [rate for rate, _ in mine] == pytest.approx([rate for rate, _ in expected], abs=1e-6)


def beside_each_other(rng: np.random.Generator, modes: list[tuple[Any, float]], others: int) -> Given:
    """Modes with real parts that are polynomials of s, those with a frequency as pairs, and others that decay, in mixed
    coordinates: the coefficients, lowest first, and the frequency of each."""
    size = sum(2 if rate else 1 for _, rate in modes) + others
    parts = [np.zeros((size, size)) for _ in range(max(len(real) for real, _ in modes))]
    k = 0
    for real, rate in modes:
        block = slice(k, k + (2 if rate else 1))
        for part, coefficient in zip(parts, real, strict=False):
            part[block, block] = coefficient * np.eye(block.stop - k)
        if rate:
            parts[0][block, block] += [[0.0, rate], [-rate, 0.0]]
        k = block.stop
    parts[0][range(k, size), range(k, size)] = -np.arange(1.0, others + 1)
    u, _, v = np.linalg.svd(rng.normal(size=(size, size)))
    turned = u @ np.diag(np.geomspace(1.0, rng.choice([1.0, 3.0, 30.0]), size)) @ v
    return Given(*[turned @ part @ np.linalg.inv(turned) for part in parts])


def zero_of_order(order: int, at: float, slope: float) -> Any:
    return slope * np.polynomial.polynomial.polyfromroots([at] * order)


def slopes_and_rates(rng: np.random.Generator, count: int) -> list[tuple[float, float]]:
    return [(float(rng.uniform(0.3, 3) * rng.choice([-1, 1])), float(rng.choice([0.0, rng.uniform(1, 5)]))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(16))
def test_modes_that_touch_the_axis_at_one_value_change_nothing(seed: int) -> None:
    """Real parts a (s − c)²: each mode grows on both sides, or decays on both."""
    rng = np.random.default_rng(seed)
    at = float(rng.choice([0.5, 0.25, rng.uniform(0.2, 0.8)]))
    modes = [(zero_of_order(2, at, slope), rate) for slope, rate in slopes_and_rates(rng, 1 + seed % 3)]
    given = beside_each_other(rng, modes, seed % 4)
    assert [c.change for c in found_in(given, np.linspace(0, 1, (2, 3, 11, 41)[seed % 4]))] == []


@pytest.mark.parametrize("seed", range(12))
def test_the_value_of_a_mode_that_reaches_the_axis_at_an_end_of_the_sweep_is_that_end(seed: int) -> None:
    """Real parts a (s − c)ⁿ of a pair, whose sweep begins or ends at c; beside c they are below rounding error."""
    rng = np.random.default_rng(seed)
    low, high = 0.0, float(10 ** rng.uniform(-1, 1))
    at, order, slope = (low, high)[seed % 2], 1 + seed % 4, float(rng.uniform(0.3, 3) * rng.choice([-1, 1]))
    given = beside_each_other(rng, [(zero_of_order(order, at, slope), 2.5), ([-7.0], 0.0)], 1)
    (found,) = found_in(given, np.linspace(low, high, (2, 11, 51)[seed % 3]))
    assert found.value == pytest.approx(at, abs=max(1e-11 * high, found.uncertainty))
    assert found.uncertainty == 0.0 if order == 1 else 0.0 < found.uncertainty < 0.01
    grows = slope * (high / 2 - at) ** order > 0
    assert found.change == (0 if not grows else 2 if at == low else -2)


@pytest.mark.parametrize("seed", range(8))
def test_a_mode_that_crosses_where_others_touch_is_listed_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    at = float(rng.uniform(0.2, 0.8))
    (slope, _), *touching = slopes_and_rates(rng, 2 + seed % 2)
    modes = [(zero_of_order(1, at, slope), 2.5), *[(zero_of_order(2, at, a), rate) for a, rate in touching]]
    (found,) = found_in(beside_each_other(rng, modes, seed % 3), np.linspace(0, 1, (2, 21, 40)[seed % 3]))
    assert found.value == pytest.approx(at, abs=1e-9)
    assert found.eigenvalue == pytest.approx(2.5j, abs=1e-6)
    assert found.change == 2 * np.sign(slope)


@pytest.mark.parametrize("seed", range(8))
def test_a_flat_crossing_is_one_value(seed: int) -> None:
    """Real part a (s − c)³: below rounding error, 1e-12, within 1e-4 of the value, which is all that is known of it."""
    rng = np.random.default_rng(seed)
    at = float(rng.uniform(0.2, 0.8))
    ((slope, rate),) = slopes_and_rates(rng, 1)
    given = beside_each_other(rng, [(zero_of_order(3, at, slope), rate)], 1 + seed % 3)
    (found,) = found_in(given, np.linspace(0, 1, (2, 21, 40)[seed % 3]))
    assert found.value == pytest.approx(at, abs=1e-4) and found.change == (2 if rate else 1) * np.sign(slope)


def test_an_interval_of_neutral_modes_is_none_of_rounding() -> None:
    """λ² = (s − a)(s − b)/100: neutral between a and b, however close they are; growing and decaying outside."""
    for width in (1e-3, 5e-5):
        a, b = 0.4, 0.4 + width
        given = Given([[0, 1], [a * b / 100, 0]], [[0, 0], [-(a + b) / 100, 0]], [[0, 0], [0.01, 0]])
        found = [c for c in found_in(given, np.linspace(0, 1, 40)) if c.change]
        assert [c.change for c in found] == [-1, 1]
        assert [c.value for c in found] == pytest.approx([a, b], abs=1e-9)


DISTANCES = (0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2)


@pytest.mark.parametrize("seed", range(60))
def test_every_mode_that_crosses_is_listed_whatever_others_do_beside_it(seed: int) -> None:
    """Two to four modes, real or pairs, of equal or other frequencies, cross at one value or next to it, in any direction."""
    rng = np.random.default_rng([seed, 1])
    at, slope, rate = float(rng.choice([0.45, 0.25, rng.uniform(0.2, 0.8)])), float(rng.uniform(0.3, 3)), float(rng.uniform(1, 5))
    crossing = []
    for k in range(2 + seed % 3):
        own = float(rng.choice([slope, rng.uniform(0.3, 3)]) * rng.choice([-1, 1]))
        crossing.append(
            (at + (float(rng.choice(DISTANCES)) if k else 0.0), own, float(rng.choice([0.0, rate, rng.uniform(1, 5)])))
        )
    given = beside_each_other(rng, [(zero_of_order(1, c, own), w) for c, own, w in crossing], seed % 4)
    found = found_in(given, np.linspace(0, 1, (2, 11, 200, 201)[seed % 4]))
    left = [(c, w, (2 if w else 1) * int(np.sign(own))) for c, own, w in crossing]
    for one in found:
        fits = [x for x in left if abs(x[0] - one.value) < 1e-8 and abs(x[1] - one.eigenvalue.imag) < 1e-5 and x[2] == one.change]
        assert fits, (one, left)
        left.remove(min(fits, key=lambda x: abs(x[0] - one.value)))
    assert not left


@pytest.mark.parametrize("order", range(3, 10))
@pytest.mark.parametrize("seed", range(6))
def test_a_zero_of_any_order_is_one_value_or_none(seed: int, order: int) -> None:
    """Within its uncertainty, where |a (s − c)ᵐ| is below 1e-11 or so, nothing more can be said."""
    rng = np.random.default_rng([seed, order])
    at = float(rng.uniform(0.4, 0.6))
    ((slope, rate),) = slopes_and_rates(rng, 1)
    given = beside_each_other(rng, [(zero_of_order(order, at, slope), rate)], 1 + seed % 3)
    found = found_in(given, np.linspace(0, 1, (2, 21, 40)[seed % 3]))
    assert [c.change for c in found] == ([(2 if rate else 1) * np.sign(slope)] if order % 2 else [])
    for c in found:
        assert abs(c.value - at) <= c.uncertainty < 2 * (1e-10 / abs(slope)) ** (1 / order)
        assert c.eigenvalue == pytest.approx(1j * rate, abs=1e-5) and c.as_data()["uncertainty"] == c.uncertainty


@pytest.mark.parametrize("seed", range(12))
def test_modes_that_come_close_and_turn_away_do_not_cross(seed: int) -> None:
    """[[a x, e], [e, −b x]]: one grows and one decays everywhere, and they exchange their shapes within e of x = 0."""
    rng = np.random.default_rng([seed, 3])
    at, (a, b), gap = float(rng.uniform(0.2, 0.8)), rng.uniform(0.3, 3, 2), 10.0 ** rng.uniform(-7, -2)
    turn = rng.normal(size=(3, 3))
    parts = [np.array([[-a * at, gap, 0], [gap, b * at, 0], [0, 0, -1.0]]), np.diag([a, -b, 0.0])]
    given = Given(*[turn @ part @ np.linalg.inv(turn) for part in parts])
    assert [c.change for c in found_in(given, np.linspace(0, 1, (2, 11, 200)[seed % 3]))] == []
