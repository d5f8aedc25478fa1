"""Suspensions of parts against closed forms, and against a derivation of their own: energies differentiated by complex steps."""

from __future__ import annotations

import numpy as np
import pytest

import draisine as dr

parts = dr.parts
G = 9.81


def by_size(values: np.ndarray) -> np.ndarray:
    return values[np.lexsort((values.imag, values.real))]


def alike(found: np.ndarray, wanted: np.ndarray, tolerance: float = 1e-9) -> bool:
    return bool(np.abs(by_size(np.asarray(found)) - by_size(np.asarray(wanted))).max() < tolerance * np.abs(wanted).max())


# ---------------------------------------------------------------- quarter car (case 11.6)


def quarter_car(
    m_s: float, m_u: float, k_s: float, k_t: float, c_s: float, travel: tuple[float, float] | None = None
) -> dr.Model:
    """A sprung mass that moves up and down, on a strut; the tire is a spring between ground and axle."""
    m = dr.Model("quarter_car")
    body = parts.frame(m, "body", mass=m_s, center_of_mass=(0, 0.6), motion="none")
    m.prismatic("heave", "ground", "body", axis="z")
    strut = parts.strut(
        m, "strut", body["body"], axle=(0, 0, 0.3), mass=m_u, stiffness=k_s, preload=m_s * G, damping=c_s, travel=travel
    )
    m.spring(f"position_z({strut['axle']})", k_t, rest=0.3 + (m_s + m_u) * G / k_t)
    return m


def quarter_car_closed(m_s: float, m_u: float, k_s: float, k_t: float, c_s: float) -> np.ndarray:
    return np.roots([m_s * m_u, c_s * (m_s + m_u), m_s * (k_s + k_t) + m_u * k_s, c_s * k_t, k_s * k_t])


def test_quarter_car():
    published = [-17.672386824036884 + 66.9225668013135j, -1.8551429378678803 + 7.637420609378404j]
    given = (320.0, 42.0, 21500.0, 185000.0, 1450.0)
    found = dr.linearize(quarter_car(*given)).eigenvalues
    assert alike(found, np.array([*published, *np.conj(published)]))
    for case in np.random.default_rng(1).uniform(0.5, 2.0, (3, 5)) * given:
        assert alike(dr.linearize(quarter_car(*case)).eigenvalues, quarter_car_closed(*case))
    undamped = np.abs(dr.linearize(quarter_car(320.0, 42.0, 21500.0, 185000.0, 0.0)).eigenvalues.imag)
    assert np.abs(np.sort(undamped)[1::2] / [7.752781189121118, 70.1694274631073] - 1).max() < 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_bump_stops_are_hit_and_left(seed: int):
    """A quarter car that falls into its bump stops and leaves them again: within its travel, with no energy gained."""
    rng = np.random.default_rng(seed)
    given = np.array([320.0, 42.0, 21500.0, 185000.0, 1450.0]) * rng.uniform(0.3, 3.0, 5)
    travel = (-rng.uniform(0.02, 0.1), rng.uniform(0.02, 0.1))
    run = dr.simulate(quarter_car(*given, travel=travel), 2.0, start={"heave_rate": -rng.uniform(1.0, 4.0)})
    assert str(run.status.kind) == "FINISHED" and len(run.modes.impacts) > 0
    compression = run["strut_travel"]
    assert compression.min() > travel[0] - 1e-9 and compression.max() < travel[1] + 1e-9
    assert run.energy_drift < 1e-7


# ---------------------------------------------------------------- bounce and pitch (case 11.6)


def test_bounce_and_pitch():
    """A body on two vertical springs."""
    mass, i_y, a, b, k_f, k_r, c_f, c_r = 205.0, 29.5, 0.72, 0.66, 16800.0, 24500.0, 900.0, 1350.0
    m = dr.Model("bounce_pitch")
    parts.frame(m, "body", mass=mass, center_of_mass=(b, 0.5), inertia=(10, i_y, 20), motion="in_plane", outputs=False)
    loads = mass * G * a / (a + b), mass * G * b / (a + b)  # rear, front
    for name, x, k, c, load in (("rear", 0.0, k_r, c_r, loads[0]), ("front", a + b, k_f, c_f, loads[1])):
        m.point(f"{name}_foot", "body", (x, 0, 0.5))
        m.spring(f"position_z({name}_foot)", k, rest=0.5 + load / k, damping=c)
    found = dr.linearize(m).essential().eigenvalues
    published = [-18.067535256991484 + 18.341306165301095j, -5.2951848752945825 + 12.94245798455679j]
    assert alike(found, np.array([*published, *np.conj(published)]))


# ---------------------------------------------------------------- in-plane motorcycle (case 11.6)

BIKE = {
    "M": 205.0, "I": 33.0, "x": 0.68, "h": 0.62, "pivot": (0.55, 0.38), "r_rear": 0.31, "r_front": 0.3, "w": 1.41, "trail": 0.1,
    "tilt": 0.42, "m_arm": 9.0, "i_arm": 0.3, "share": 0.45, "m_rear": 15.0, "m_front": 19.0, "k_f": 17e3, "k_arm": 15e3,
    "c_f": 900.0, "c_arm": 450.0, "k_tf": 150e3, "k_tr": 180e3,
}  # fmt: skip


def in_plane(s: dict) -> dr.Model:
    """Wheels do not turn, tires are vertical springs at the wheel centers, without friction; the design position is at rest."""
    rear_load, front_load, fork_load, arm_load = loads_by_hand(s)
    m = dr.Model("in_plane")
    frame = parts.frame(
        m, "frame", mass=s["M"], center_of_mass=(s["x"], s["h"]), inertia=(20, s["I"], 25), wheelbase=s["w"], trail=s["trail"],
        steer_axis_tilt=s["tilt"], points={"pivot": s["pivot"]}, motion="in_plane", outputs=False,
    )  # fmt: skip
    fork = parts.telescopic_fork(
        m, "fork", frame["head"], axle=(s["w"], s["r_front"]), mass=0, center_of_mass=(1, 0.5), inertia=(0, 0, 0), steer="",
        lower_mass=s["m_front"], lower_inertia=(0, 0, 0), stiffness=s["k_f"], preload=fork_load, damping=s["c_f"],
    )  # fmt: skip
    (px, pz), share = s["pivot"], s["share"]
    center = (px * (1 - share), pz + share * (s["r_rear"] - pz))
    arm = parts.swing_arm(
        m, "arm", frame["pivot"], axle=(0, s["r_rear"]), mass=s["m_arm"], center_of_mass=center, inertia=(0.1, s["i_arm"], 0.3),
        stiffness=s["k_arm"], preload=arm_load, damping=s["c_arm"],
    )  # fmt: skip
    m.body("rear_mass", mass=s["m_rear"])
    m.fixed("rear_hub", "arm", "rear_mass", at=m._items["points"][arm["axle"]].at)
    m.spring(f"position_z({fork['axle']})", s["k_tf"], rest=s["r_front"] + front_load / s["k_tf"])
    m.spring(f"position_z({arm['axle']})", s["k_tr"], rest=s["r_rear"] + rear_load / s["k_tr"])
    return m


def masses(s: dict, q: np.ndarray) -> tuple[list, list, np.ndarray, np.ndarray]:
    """By hand: positions of the mass centers with their masses, angles with moments of inertia, wheel heights, for
    q = (x, z, pitch nose down, arm angle, fork compression)."""
    x, z, pitch, arm, travel = q

    def turned(v, angle):  # about y: a point ahead goes down
        return np.array([np.cos(angle) * v[0] + np.sin(angle) * v[1], np.cos(angle) * v[1] - np.sin(angle) * v[0]])

    def placed(v):
        return np.array([x, z]) + turned(v, pitch)

    pivot = np.array(s["pivot"])
    reach = turned(np.array([0, s["r_rear"]]) - pivot, arm)
    rear, middle = placed(pivot + reach), placed(pivot + s["share"] * reach)
    front = placed(np.array([s["w"], s["r_front"]]) + travel * np.array([-np.sin(s["tilt"]), np.cos(s["tilt"])]))
    points = [(s["M"], placed(np.array([s["x"], s["h"]]))), (s["m_arm"], middle), (s["m_rear"], rear), (s["m_front"], front)]
    angles = [(s["I"], pitch), (s["i_arm"], pitch + arm)]
    return points, angles, rear[1], front[1]


def loads_by_hand(s: dict) -> tuple[float, float, float, float]:
    """Static loads of the wheels, force of the fork's spring and moment of the arm's, in the design position."""
    points = masses(s, np.zeros(5))[0]
    front = sum(m * p[0] for m, p in points) * G / s["w"]
    rear = sum(m for m, _ in points) * G - front
    fork = (front - s["m_front"] * G) * np.cos(s["tilt"])
    arm = (rear - s["m_rear"] * G - s["share"] * s["m_arm"] * G) * s["pivot"][0]
    return rear, front, fork, arm


def eigenvalues_by_hand(s: dict) -> np.ndarray:
    """M from first derivatives of positions, K from differences of gradients of the energy; x, along which no force acts, is
    eliminated."""
    rear_load, front_load, fork, arm = loads_by_hand(s)
    n, h = 5, 1e-30

    def energy(q):
        points, _, rear, front = masses(s, q)
        tires = s["k_tr"] * (s["r_rear"] + rear_load / s["k_tr"] - rear) ** 2 / 2
        tires = tires + s["k_tf"] * (s["r_front"] + front_load / s["k_tf"] - front) ** 2 / 2
        springs = fork * q[4] + s["k_f"] / 2 * q[4] ** 2 + arm * q[3] + s["k_arm"] / 2 * q[3] ** 2
        return sum(m * G * p[1] for m, p in points) + tires + springs

    def gradient(q):
        return np.array([energy(q + 1j * h * e).imag / h for e in np.eye(n)])

    def moved(e):
        points, angles, *_ = masses(s, 1j * h * e)
        return np.concatenate([*[np.sqrt(m) * p.imag for m, p in points], [np.sqrt(i) * a.imag for i, a in angles]]) / h

    assert np.abs(gradient(np.zeros(n))).max() < 1e-9 * s["M"] * G  # the design position is the equilibrium
    columns = np.array([moved(e) for e in np.eye(n)])
    mass, d = columns @ columns.T, 1e-3
    weights = ((1, 672 / 840), (2, -168 / 840), (3, 32 / 840), (4, -3 / 840))  # eighth order
    stiff = np.array([sum(w * (gradient(k * d * e) - gradient(-k * d * e)) for k, w in weights) / d for e in np.eye(n)])
    damping = np.diag([0, 0, 0, s["c_arm"], s["c_f"]])
    mass = mass[1:, 1:] - np.outer(mass[1:, 0], mass[0, 1:]) / mass[0, 0]
    a = np.block(
        [[np.zeros((4, 4)), np.eye(4)], [-np.linalg.solve(mass, stiff[1:, 1:]), -np.linalg.solve(mass, damping[1:, 1:])]]
    )
    return np.linalg.eigvals(a)


@pytest.mark.parametrize("seed", range(3))
def test_in_plane_motorcycle(seed):
    s = dict(BIKE)
    if seed:
        vary = np.random.default_rng(seed).uniform(0.8, 1.2, len(s))
        s = {k: v if k in ("pivot", "tilt") else v * f for (k, v), f in zip(s.items(), vary, strict=True)}
    assert alike(dr.linearize(in_plane(s)).essential().eigenvalues, eigenvalues_by_hand(s))


def test_trim_gives_the_preloads_of_the_design_position():
    """Static sag in one call: the springs that carry the machine in the position in which it was drawn."""
    fork, arm = loads_by_hand(BIKE)[2:]
    bike = dr.derive(in_plane(BIKE))
    wrong = {"fork_preload": 500.0, "arm_preload": 900.0}
    held = dr.steady(bike, {"fork_travel": 0.0, "arm_angle": 0.0}, free=("fork_preload", "arm_preload"), parameters=wrong)
    found = dict(zip((p.name for p in bike.parameters), held.p, strict=True))
    assert abs(found["fork_preload"] / fork - 1) < 1e-9 and abs(found["arm_preload"] / arm - 1) < 1e-9
    sagged = dr.steady(bike, parameters={"fork_preload": 0.0})
    assert sagged["fork_travel"] > 0.03 and abs(sagged["arm_angle"]) < 0.02
