"""The laws that the judges stand on, each against a second way: impacts along a path, complementarity, Gauss–Seidel, energy."""

from __future__ import annotations

import judge_event
import judge_stepping
import numpy as np
import pytest
from complementarity import Law, solutions
from impact_laws import NotUniqueError, Surface, algebraic, path, two_phase
from judge_event import accelerations, simulate
from rigid_scene import Contact, Scene, constant_force, constant_mass
from scenes import GRAVITY, cradle, rod, rod_on_supports, sphere_on_slope, standing_rod


def random_planar(rng):
    """A Delassus matrix and an approach velocity of one planar contact."""
    A = rng.normal(size=(2, 2))
    return A @ A.T + 0.1 * np.eye(2), np.array([-rng.uniform(0.5, 2.0), rng.normal()])


def stepped_path(G, u, mu, e, ending, steps=40_000):
    """The impact by small increments of normal impulse: the second way to `path`, of first order."""
    u, impulse, work, compression, compressed = u.copy(), np.zeros(2), 0.0, 0.0, None
    first, dp = u[0], 2.0 * (1 + e) * abs(u[0]) / (np.linalg.eigvalsh(G)[0] * steps)
    while True:
        stick = -u[1] / (G[1, 1] * dp) - G[1, 0] / G[1, 1]
        increment = dp * np.array([1.0, np.clip(stick, -mu, mu)])
        middle = u[0] + 0.5 * (G @ increment)[0]
        u, impulse, work = u + G @ increment, impulse + increment, work + middle * dp
        if compressed is None and u[0] >= 0:
            compressed, compression, work = impulse[0], work, 0.0
        if compressed is None:
            continue
        if (
            (ending == "newton" and u[0] >= -e * first)
            or (ending == "poisson" and impulse[0] >= (1 + e) * compressed)
            or (ending == "energetic" and work >= -(e**2) * compression)
        ):
            return impulse


@pytest.mark.parametrize("ending", ["newton", "poisson", "energetic"])
def test_the_path_of_an_impact_is_that_of_small_increments(ending):
    rng = np.random.default_rng(20)
    for _ in range(6):
        G, u = random_planar(rng)
        mu, e = rng.uniform(0, 1.2), rng.uniform(0.1, 0.9)
        exact, stepped = path(G, u, mu, e, ending), stepped_path(G, u, mu, e, ending, 4000)
        np.testing.assert_allclose(stepped, exact, atol=5e-3 * (1 + np.abs(exact).max()))


def test_the_energetic_law_never_gains_energy_and_newtons_does():
    """ΔT = Pᵀ (u⁺ + u⁻)/2, for random contacts: central and eccentric, with slip that stops and reverses."""
    rng = np.random.default_rng(3)
    gained = {"newton": 0, "poisson": 0, "energetic": 0}
    for _ in range(3000):
        G, u = random_planar(rng)
        mu, e = rng.uniform(0, 2.0), rng.uniform(0, 1)
        for ending in gained:
            impulse = path(G, u, mu, e, ending)
            after = u + G @ impulse
            assert after[0] > -1e-12 and abs(impulse[1]) <= mu * impulse[0] + 1e-12
            gained[ending] += impulse @ (u + after) / 2 > 1e-10
    assert gained["energetic"] == 0 and gained["poisson"] == 0
    assert gained["newton"] > 10  # Kane and Levinson's paradox


def test_laws_agree_where_they_must():
    """Without friction, and for central impacts, Newton, Poisson and the energetic law are one."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        G, u = random_planar(rng)
        e, mu = rng.uniform(0, 1), rng.uniform(0, 1)
        smooth = [path(G, u, 0.0, e, ending) for ending in ("newton", "poisson", "energetic")]
        central = np.diag(np.diag(G))
        rough = [path(central, u, mu, e, ending) for ending in ("newton", "poisson", "energetic")]
        rough += [law(central, u, [Surface(1, mu, e)])[0] for law in (algebraic, two_phase)]
        for group in (smooth, rough):
            for one in group[1:]:
                np.testing.assert_allclose(one, group[0], atol=1e-11)


@pytest.mark.parametrize("size", [1, 2])
def test_gauss_seidel_finds_what_enumeration_finds(size):
    """Random contacts with little coupling, where the solution is unique: two contacts in the plane, one in space."""
    rng = np.random.default_rng(size)
    count = 2 if size == 1 else 1
    rows = count * (1 + size)
    compared = 0
    for _ in range(60 if size == 1 else 25):
        A = rng.normal(size=(rows, rows + 3))
        G, c = A @ A.T + np.eye(rows), rng.normal(size=rows)
        laws = [Law(size, mu, mu) for mu in rng.uniform(0, 0.4, size=count)]
        found = solutions(G, c, laws)
        if len(found) == 1:
            force = judge_stepping.gauss_seidel(G, c, laws, np.zeros(rows))
            np.testing.assert_allclose(force, found[0].multipliers, atol=1e-9)
            compared += 1
    assert compared > 20


def test_a_ball_that_lands_obliquely_in_space_slips_against_its_direction():
    """Slip and stick of one impact in space, by the planar formula turned into the direction of slip."""
    rng = np.random.default_rng(6)
    inertia, radius = 0.4, 1.0
    for _ in range(20):
        mu, e, slip = rng.uniform(0.02, 0.6), rng.uniform(0, 0.9), rng.normal(size=2)
        G = np.diag([1.0, 1 + radius**2 / inertia, 1 + radius**2 / inertia])
        before = np.array([-1.0, *slip])
        impulse, _ = algebraic(G, before, [Surface(2, mu, e)])
        speed = float(np.linalg.norm(slip))
        limit = min(mu * (1 + e), speed / G[1, 1])
        np.testing.assert_allclose(impulse, [1 + e, *(-limit * slip / speed)], atol=1e-12)


@pytest.mark.parametrize("restitution", ["newton", "poisson", "path energetic"])
def test_random_spheres_bounce_as_the_recursion_says(restitution):
    """C01h with random numbers: times, slip and spin of every impact in closed form."""
    rng = np.random.default_rng(11)
    for _ in range(4):
        e, mu, radius, height = rng.uniform(0.3, 0.9), rng.uniform(0.02, 0.5), rng.uniform(0.05, 0.5), rng.uniform(0.3, 2)
        vx, omega = rng.normal(size=2) * (3, 10)
        scene = sphere_on_slope(0.0, radius, mu, e)
        run = simulate(scene, [0, height, 0], [vx, 0, omega], 1.5, restitution=restitution)
        t, vn = np.sqrt(2 * height / GRAVITY), np.sqrt(2 * height * GRAVITY)
        for impact in run.of("impact")[:4]:
            slip = vx - radius * omega
            impulse = -np.sign(slip) * min(mu * (1 + e) * vn, abs(slip) * 2 / 7)
            vx, omega = vx + impulse, omega - impulse * radius / (0.4 * radius**2)
            np.testing.assert_allclose([impact.t, impact.after[0], impact.after[2]], [t, vx, omega], rtol=1e-10, atol=1e-10)
            vn *= e
            t += 2 * vn / GRAVITY


def test_random_rods_keep_their_energy_balance_and_both_judges_agree():
    """Rods dropped in any attitude with friction, e = 0: no penetration, no energy gained, and time stepping converges."""
    rng = np.random.default_rng(8)
    for _ in range(6):
        mu, theta = rng.uniform(0, 0.8), rng.uniform(-1.3, 1.3)
        scene = rod(mu)
        q = np.array([0.0, 0.5 * np.cos(theta) + rng.uniform(0, 0.3), theta])
        v = np.array([*rng.normal(size=2), rng.normal() * 2])
        run = simulate(scene, q, v, 0.6)
        assert run.status == "end"
        for event in run.events:
            lost = scene.kinetic_energy(event.q, event.before) - scene.kinetic_energy(event.q, event.after)
            assert lost > -1e-12
            assert min(contact.opening(event.t, event.q) for contact in scene.contacts) > -1e-10
        energy = [scene.kinetic_energy(a, b) + GRAVITY * a[1] for a, b in ((q, v), (run.q, run.v))]
        assert energy[1] <= energy[0] + 1e-9
        errors = [np.abs(judge_stepping.simulate(scene, q, v, 0.6, steps).q[-1] - run.q).max() for steps in (20, 25, 30, 320)]
        assert errors[-1] < max(errors[:-1]) / 3


def test_energy_with_friction_and_impacts_balances():
    """Work of friction, by Gauss quadrature between the events, and the losses of impacts make up the loss of energy."""
    scene, end = rod(0.25), 0.9
    q, v = (np.array(part) for part in standing_rod(0.3, 0.5))
    whole = simulate(scene, q, v, end)
    assert {event.kind for event in whole.events} == {"slip", "stick", "impact"}
    nodes, weights = np.polynomial.legendre.leggauss(12)
    work, t = 0.0, 0.0
    for event in (*whole.events, None):
        close = end if event is None else event.t
        run = simulate(scene, q, v, t + 1e-15, t=t)
        for node, weight in zip(nodes, weights, strict=True):
            run = simulate(scene, run.q, run.v, t + (close - t) * (1 + node) / 2, t=run.t)
            for i, contact in enumerate(scene.contacts):
                slip = scene.contact_rows(run.t, run.q, run.v, [i])[1][1]
                work += weight * (close - t) / 2 * run.forces.get(contact.name, np.zeros(2))[1] * slip
        if event is not None:
            work += scene.kinetic_energy(event.q, event.after) - scene.kinetic_energy(event.q, event.before)
            q, v, t = event.q, event.after, event.t
    first = (np.array(part) for part in standing_rod(0.3, 0.5))
    start, stop = (scene.kinetic_energy(a, b) + GRAVITY * a[1] for a, b in (tuple(first), (whole.q, whole.v)))
    assert abs(stop - start - work) < 1e-9 * start and stop < 0.9 * start


def test_newtons_cradle_of_random_masses_keeps_momentum_and_energy():
    rng = np.random.default_rng(5)
    for law in ("newton", "poisson", "sequential"):
        for _ in range(20):
            masses = list(rng.uniform(0.5, 3, size=4))
            e = 1.0 if law != "poisson" else rng.uniform(0, 1)
            scene, v = cradle(masses, e), np.sort(rng.normal(size=4))[::-1]
            try:
                run = simulate(scene, np.zeros(4), v, 1.0, restitution=law, stop="impact")
            except NotUniqueError:
                pytest.fail("frictionless impacts have one solution")
            assert abs(np.dot(masses, run.v - v)) < 1e-12
            before, after = scene.kinetic_energy(run.q, v), scene.kinetic_energy(run.q, run.v)
            assert after <= before + 1e-12 and (law == "poisson" or abs(after - before) < 1e-12 * before)
            assert np.all(np.diff(run.v) > -1e-12)


def test_resting_contacts_that_are_overdetermined_have_unique_accelerations():
    """A block on three supports in a line: forces are not unique, the acceleration is."""
    scene = rod_on_supports(1.0, 1.0, [-0.3, 0.0, 0.4], 0.0, g=GRAVITY)
    (found,) = accelerations(scene, 0.0, np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(found.results, np.zeros(3), atol=1e-12)
    assert abs(found.multipliers.sum() - GRAVITY) < 1e-12


def test_a_lifting_platform_throws_a_ball_when_its_acceleration_exceeds_gravity():
    """Moving ground z = A sin(ω t): lift-off at sin(ω t) = g/(A ω²), while it decelerates."""
    amplitude, omega = 0.1, 15.0
    ground = Contact("platform", lambda t, q: q[0] - amplitude * np.sin(omega * t))
    scene = Scene(constant_mass(1.0), constant_force(-GRAVITY), (ground,))
    run = simulate(scene, [0.0], [amplitude * omega], 0.2, stop="lift off")
    assert abs(run.t - np.arcsin(GRAVITY / (amplitude * omega**2)) / omega) < 1e-12
    assert judge_event.simulate(scene, run.q, run.v, run.t + 0.05, t=run.t).modes == {"platform": "open"}
