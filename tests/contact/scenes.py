"""Scenes of the reference cases: masses, forces, gaps and slip velocities, written down directly from their figures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rigid_scene import Contact, Scene, constant_force, constant_mass, lagrangian_force

Array = NDArray[Any]
GRAVITY = 9.81


def particle_on_slope(angle: float, mu: float = 0.0, e: float = 0.0, m: float = 1.0, g: float = GRAVITY) -> Scene:
    """q = (along the slope, downward positive; normal to it)."""
    ground = Contact("ground", lambda t, q: q[1], lambda t, q, v: [v[0]], (mu, mu), e)
    return Scene(constant_mass(m, m), constant_force(m * g * np.sin(angle), -m * g * np.cos(angle)), (ground,))


def sphere_on_slope(
    angle: float, radius: float, mu: float, e: float, tangential: float = 0.0, g: float = GRAVITY, ceiling: float | None = None
) -> Scene:
    """q = (along the slope; gap; turn in the rolling sense) of a homogeneous sphere of mass 1, perhaps below a table."""
    friction = (mu, mu)
    contacts = [Contact("ground", lambda t, q: q[1], lambda t, q, v: [v[0] - radius * v[2]], friction, e, tangential)]
    if ceiling is not None:
        top = ceiling
        contacts.append(
            Contact("table", lambda t, q: top - q[1], lambda t, q, v: [v[0] + radius * v[2]], friction, e, tangential)
        )
    mass = constant_mass(1.0, 1.0, 0.4 * radius**2)
    return Scene(mass, constant_force(g * np.sin(angle), -g * np.cos(angle), 0.0), tuple(contacts))


def pulled_block(m: float, rate: float, static: float, kinetic: float) -> Scene:
    """q = (x, height): a block on a floor, pulled by the force rate · t."""
    ground = Contact("ground", lambda t, q: q[1], lambda t, q, v: [v[0]], (static, kinetic))
    return Scene(constant_mass(m, m), lambda t, q, v: np.array([rate * t, -m * GRAVITY]), (ground,))


def oscillator(m: float, k: float, static: float, kinetic: float, belt: float = 0.0) -> Scene:
    """q = (x, height): a mass on a spring and on a belt."""
    ground = Contact("belt", lambda t, q: q[1], lambda t, q, v: [v[0] - belt], (static, kinetic))
    return Scene(constant_mass(m, m), lambda t, q, v: np.array([-k * q[0], -m * GRAVITY]), (ground,))


def relay(c: float, limit: float) -> Scene:
    """q = (x, height): ẍ = −U sgn(ẋ + c x) as dry friction against the "slip" ẋ + c x under the load U."""
    ground = Contact("relay", lambda t, q: q[1], lambda t, q, v: [v[0] + c * q[0]], (1.0, 1.0))
    return Scene(constant_mass(1.0, 1.0), constant_force(0.0, -limit), (ground,))


def cue_ball(radius: float, mu: float) -> Scene:
    """q = (x, y, gap, turns about x, y, z): a homogeneous ball of mass 1; no force depends on its attitude."""

    def slip(t: Any, q: Array, v: Array) -> list[Any]:
        return [v[0] - radius * v[4], v[1] + radius * v[3]]

    inertia = 0.4 * radius**2
    table = Contact("table", lambda t, q: q[2], slip, (mu, mu))
    return Scene(constant_mass(1.0, 1.0, 1.0, inertia, inertia, inertia), constant_force(0, 0, -GRAVITY, 0, 0, 0), (table,))


def smooth_disc(m: float, radius: float) -> Scene:
    """q = (x, y, z, ψ heading, θ lean, φ spin) of a thin disc whose rim touches a smooth plane."""
    diametral, axial = m * radius**2 / 4, m * radius**2 / 2

    def mass(q: Array) -> Array:
        s, c = np.sin(q[4]), np.cos(q[4])
        matrix = np.diag(np.array([m, m, m, 0, diametral, axial], dtype=np.result_type(q, float)))
        matrix[3, 3] = diametral * c * c + axial * s * s
        matrix[3, 5] = matrix[5, 3] = axial * s
        return matrix

    rim = Contact("rim", lambda t, q: q[2] - radius * np.cos(q[4]))
    return Scene(mass, lagrangian_force(mass, lambda q: m * GRAVITY * q[2]), (rim,))


def rod(mu: float, e: float = 0.0, m: float = 1.0, length: float = 1.0, g: float = GRAVITY) -> Scene:
    """q = (x, y of the center; θ from the vertical, falling to +x) of a uniform slender rod; both ends may touch the floor."""
    half = length / 2

    def end(name: str, sign: float) -> Contact:
        return Contact(
            name,
            lambda t, q: q[1] + sign * half * np.cos(q[2]),
            lambda t, q, v: [v[0] + sign * half * np.cos(q[2]) * v[2]],
            (mu, mu),
            e,
        )

    return Scene(constant_mass(m, m, m * length**2 / 12), constant_force(0, -m * g, 0), (end("foot", -1.0), end("tip", 1.0)))


def standing_rod(theta: float, rate: float, length: float = 1.0) -> tuple[list[float], list[float]]:
    """State of `rod` with its foot at rest at the origin."""
    half = length / 2
    s, c = np.sin(theta), np.cos(theta)
    return [half * s, half * c, theta], [half * c * rate, -half * s * rate, rate]


def particle_on_sphere(radius: float) -> Scene:
    """q = (x, y): a particle on a smooth sphere that stands on the floor y = 0."""
    sphere = Contact("sphere", lambda t, q: np.sqrt(q[0] ** 2 + (q[1] - radius) ** 2) - radius)
    floor = Contact("floor", lambda t, q: q[1])
    return Scene(constant_mass(1.0, 1.0), constant_force(0.0, -GRAVITY), (sphere, floor))


def ball_on_sphere(radius: float, ball: float, mu: float) -> Scene:
    """q = (x, y of the center from that of the fixed sphere; turn in the rolling sense) of a homogeneous ball of mass 1."""

    def slip(t: Any, q: Array, v: Array) -> list[Any]:
        return [(v[0] * q[1] - v[1] * q[0]) / np.sqrt(q[0] ** 2 + q[1] ** 2) - ball * v[2]]

    sphere = Contact("sphere", lambda t, q: np.sqrt(q[0] ** 2 + q[1] ** 2) - (radius + ball), slip, (mu, mu))
    return Scene(constant_mass(1.0, 1.0, 0.4 * ball**2), constant_force(0.0, -GRAVITY, 0.0), (sphere,))


def rolling_on_sphere(distance: float, ball: float, theta: float, rate: float) -> tuple[list[float], list[float]]:
    """State of `ball_on_sphere` that rolls at an angle from the top."""
    s, c = np.sin(theta), np.cos(theta)
    return [distance * s, distance * c, 0.0], [distance * c * rate, -distance * s * rate, distance * rate / ball]


def rocking_block(width: float, height: float, mu: float) -> Scene:
    """q = (x, y of the center, θ counter-clockwise) of a uniform block of mass 1; its two lower corners may touch."""
    b, h = width / 2, height / 2

    def corner(name: str, at: float) -> Contact:
        return Contact(
            name,
            lambda t, q: q[1] + at * np.sin(q[2]) - h * np.cos(q[2]),
            lambda t, q, v: [v[0] + (-at * np.sin(q[2]) + h * np.cos(q[2])) * v[2]],
            (mu, mu),
        )

    return Scene(
        constant_mass(1.0, 1.0, (b * b + h * h) / 3), constant_force(0, -GRAVITY, 0), (corner("left", -b), corner("right", b))
    )


def rimless_wheel(spokes: int, slope: float, inertia: float, mu: float, length: float = 1.0) -> Scene:
    """q = (along the slope, normal to it, turn in the rolling sense) of a hub of mass 1 with massless spokes."""

    def tip(k: int) -> Contact:
        at = 2 * np.pi * k / spokes
        return Contact(
            f"spoke {k}",
            lambda t, q: q[1] - length * np.cos(at - q[2]),
            lambda t, q, v: [v[0] - length * np.cos(at - q[2]) * v[2]],
            (mu, mu),
        )

    force = constant_force(GRAVITY * np.sin(slope), -GRAVITY * np.cos(slope), 0)
    return Scene(constant_mass(1.0, 1.0, inertia), force, tuple(tip(k) for k in range(spokes)))


def planar_bicycle(given: Any, mu: float, drive: float = 0.0, front_brake: float = 0.0) -> Scene:
    """q = (x, z of the rear hub, pitch nose up, turns of rear and front wheel in the rolling sense), steering locked.

    `given` reads the parameters of the reference case. The torques act between frame and wheel.
    """
    w, rear, front = given("w"), given("rR"), given("rF")
    masses, inertias = given("masses"), given("Iyy")
    (xB, zB), (xH, zH) = given("B"), given("H")
    points = [(0.0, 0.0), (xB, zB - rear), (xH, zH - rear), (w, front - rear)]

    def columns(dx: float, dz: float, q: Array) -> Array:
        s, c = np.sin(q[2]), np.cos(q[2])
        return np.array([[1, 0, -dx * s - dz * c, 0, 0], [0, 1, dx * c - dz * s, 0, 0]])

    def mass(q: Array) -> Array:
        matrix = np.diag(np.array([0, 0, inertias[1] + inertias[2], inertias[0], inertias[3]], dtype=np.result_type(q, float)))
        for m, (dx, dz) in zip(masses, points, strict=True):
            J = columns(dx, dz, q)
            matrix = matrix + m * J.T @ J
        return matrix

    def potential(q: Array) -> Any:
        return GRAVITY * sum(
            m * (q[1] + dx * np.sin(q[2]) + dz * np.cos(q[2])) for m, (dx, dz) in zip(masses, points, strict=True)
        )

    free = lagrangian_force(mass, potential)
    torques = np.array([0.0, 0.0, drive - front_brake, drive, -front_brake])
    dx, dz = points[3]
    rear_wheel = Contact("rear", lambda t, q: q[1] - rear, lambda t, q, v: [v[0] - rear * v[3]], (mu, mu))
    front_wheel = Contact(
        "front",
        lambda t, q: q[1] + dx * np.sin(q[2]) + dz * np.cos(q[2]) - front,
        lambda t, q, v: [v[0] - (dx * np.sin(q[2]) + dz * np.cos(q[2])) * v[2] - front * v[4]],
        (mu, mu),
    )
    return Scene(mass, lambda t, q, v: free(t, q, v) + torques, (rear_wheel, front_wheel))


def cradle(masses: list[float], e: float) -> Scene:
    """q = positions of point-like balls on a line."""

    def pair(i: int) -> Contact:
        return Contact(f"{i}-{i + 1}", lambda t, q: q[i + 1] - q[i], restitution=e)

    return Scene(constant_mass(*masses), constant_force(*np.zeros(len(masses))), tuple(pair(i) for i in range(len(masses) - 1)))


def rod_on_supports(m: float, length: float, supports: list[float], e: float, g: float = 0.0) -> Scene:
    """q = (height, angle) of a level rod above smooth point supports; what matters is the impact."""

    def support(at: float) -> Contact:
        return Contact(f"at {at}", lambda t, q: q[0] + at * q[1], restitution=e)

    return Scene(constant_mass(m, m * length**2 / 12), constant_force(-m * g, 0), tuple(support(at) for at in supports))


def walker(hip: float, leg: float, center: float, slope: float, g: float, mu: float, length: float = 1.0) -> Scene:
    """q = (hip along the slope, normal to it; angles of the legs from the normal, foot ahead positive).

    A leg's point mass is `center` below the hip. A foot counts only 0.15 rad ahead of the other leg or where it stands: the
    swing foot may scuff.
    """

    def mass(q: Array) -> Array:
        matrix = np.zeros((4, 4), dtype=np.result_type(q, float))
        matrix[0, 0] = matrix[1, 1] = hip + 2 * leg
        for i in (2, 3):
            matrix[0, i] = matrix[i, 0] = leg * center * np.cos(q[i])
            matrix[1, i] = matrix[i, 1] = leg * center * np.sin(q[i])
            matrix[i, i] = leg * center**2
        return matrix

    def potential(q: Array) -> Any:
        def height(x: Any, y: Any) -> Any:
            return np.cos(slope) * y - np.sin(slope) * x

        legs = sum(height(q[0] + center * np.sin(q[i]), q[1] - center * np.cos(q[i])) for i in (2, 3))
        return g * (hip * height(q[0], q[1]) + leg * legs)

    def foot(i: int) -> Contact:
        return Contact(
            f"foot {i - 1}",
            lambda t, q: q[1] - length * np.cos(q[i]),
            lambda t, q, v: [v[0] + length * np.cos(q[i]) * v[i]],
            (mu, mu),
            armed=lambda q: q[i] - q[5 - i] > 0.15 or abs(q[1] - length * np.cos(q[i])) < 1e-9,
        )

    return Scene(mass, lagrangian_force(mass, potential), (foot(2), foot(3)))
