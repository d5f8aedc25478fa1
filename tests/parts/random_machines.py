"""Random machines from the catalog of parts: forks, drives, brakes, suspensions, tires, riders, aerodynamics and trailers."""

from __future__ import annotations

from typing import Any

import numpy as np

import draisine as dr

parts = dr.parts

MAGIC = {
    "FNOMIN": 1300.0, "UNLOADED_RADIUS": 0.3, "VERTICAL_STIFFNESS": 170e3, "VERTICAL_DAMPING": 300.0,
    "PCX1": 1.6, "PDX1": 1.25, "PKX1": 20.0, "RBX1": 10.0, "RCX1": 1.0, "PCY1": 1.2, "PDY1": -1.3, "PCY2": 0.8,
    "PKY1": -13.0, "PKY2": 2.0, "PKY3": 1.5, "PKY4": 2.0, "PKY6": -1.0, "RBY1": 10.0, "RCY1": 1.0,
    "QBZ1": 8.0, "QCZ1": 1.1, "QDZ1": 0.08, "PTX1": 0.5, "PTY1": 0.6, "PTY2": 1.0,
}  # fmt: skip


class Draw:
    """A random machine, with the choices that were made."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.model = dr.Model(f"machine_{seed}")
        self.said: list[str] = []
        self.wheels: list[str] = []
        self.kind = self.choose("two", "two", "two", "trike", "car")
        self.tire = (
            self.choose("ideal", "linear", "sprung", "brush", "magic") if self.kind == "two" else self.choose("sprung", "magic")
        )
        (self._two if self.kind == "two" else self._wide)()
        if self.chance(0.5):
            law = self.choose("smooth", "dry") if self.tire in ("ideal", "linear", "sprung") else "smooth"
            parts.brake(self.model, "brake", self.wheels[0], law=law)
            self.said.append(f"{law} brake")
        if self.chance(0.5):
            wind = self.chance(0.3)
            parts.aerodynamics(self.model, "air", "frame", center=(0.7, 0.6), drag=0.4, lift=0.05, side=0.3, wind=wind)
            self.said.append("air with wind" if wind else "air")

    def __str__(self) -> str:
        return ", ".join(self.said)

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def choose(self, *options: str) -> str:
        found = options[int(self.rng.integers(len(options)))]
        self.said.append(found)
        return found

    def _tire(self, load: float) -> dict[str, Any]:
        match self.tire:
            case "linear":
                return {"tire": dr.contact.LinearTire(12 * load, 0.25, 15 * load, camber=load)}
            case "sprung":
                return {
                    "tire": dr.contact.LinearTire(12 * load, 0.25, 15 * load, camber=load, stiffness="180 kN/m", damping=300.0)
                }
            case "brush":
                return {"tire": dr.contact.BrushTire(15 * load, 1.1, 0.06, load, relaxation=0.2)}
            case "magic":
                return {"tire": dr.contact.MagicFormula("motorcycle", {**MAGIC, "FNOMIN": load})}
        return {}

    def _springs(self, preload: float) -> dict[str, Any]:
        way = self.choose("springs", "tables", "stops")
        linear: dict[str, Any] = {"stiffness": "18 kN/m", "preload": preload, "damping": 1200.0}
        if way == "tables":
            spring = [(x, preload + 18e3 * x + 5e5 * x**3) for x in (-0.1, -0.05, 0.0, 0.05, 0.1, 0.15)]
            return {"spring": spring, "damper": [(-2.0, -3000.0), (0.0, 0.0), (2.0, 2000.0)]}
        return linear | ({"travel": (-0.1, 0.1)} if way == "stops" else {})

    def _two(self) -> None:
        m, rng = self.model, self.rng
        base, radius, tube = rng.uniform(1.3, 1.5), rng.uniform(0.22, 0.26), rng.choice([0.0, 0.06])
        hub = radius + tube
        points = {"axle": (0, hub), "pivot": (0.55, 0.4), "gearbox": (0.64, 0.42), "saddle": (0.5, 0.82)}
        frame = parts.frame(
            m, "frame", mass=rng.uniform(150, 230), center_of_mass=(0.68, 0.6), inertia=(15, 30, 24), wheelbase=base,
            trail=rng.uniform(0.08, 0.12), steer_axis_tilt="25 deg", points=points,
        )  # fmt: skip
        head = frame["head"]
        if self.chance(0.3):
            head = parts.flexure(m, "twist", head, axis=self.choose("x", "z"), stiffness="60 kN*m/rad", damping=60)["end"]
        fork = self._fork(head, base, hub)
        rear = frame["axle"]
        sprung = self.chance(0.6)
        if sprung:
            self.said.append("swing arm")
            rear = parts.swing_arm(
                m, "arm", frame["pivot"], axle=(0, hub), stiffness="16 kN*m/rad", preload="620 N*m", damping=850
            )["axle"]
        size: dict[str, Any] = {"radius": radius, "tube": tube}
        drive = self.choose("torque", "chain", "belt", "shaft", "engine")
        torque = {"torque": "drive_torque"} if drive == "torque" else {}
        parts.wheel(m, "rear", rear, mass=15, inertia=(0.4, 0.65), **size, **torque, **self._tire(1300.0))
        parts.wheel(m, "front", fork["axle"], mass=12, inertia=(0.28, 0.48), **size, **self._tire(1250.0))
        self.wheels += ["rear", "front"]
        if drive in ("chain", "belt"):
            getattr(parts, drive)(m, drive, frame["gearbox"], "rear")
        elif drive == "shaft":
            parts.shaft(m, "shaft", "rear")
        elif drive == "engine":
            speeds, throttles = (0.0, 100.0, 400.0), (0.0, 1.0)
            parts.engine(m, "engine", knots=(speeds, throttles), map=((0.0, 60.0), (-10.0, 80.0), (-20.0, 40.0)), ratio=2.0)
        if sprung and self.chance(0.5):
            parts.anti_squat(m, "squat", "arm", chain=drive if drive in ("chain", "belt") else "")
        if self.chance(0.5):
            parts.steering_damper(m, "damper", damping=rng.uniform(2, 9))
        rider = self.choose("alone", "upper body", "rider", "leaning rider")
        if rider == "upper body":
            parts.upper_body(m, "torso", frame["saddle"], stiffness=3000.0, damping=150.0)
        elif rider != "alone":
            own: dict[str, Any] = (
                {"trunk": ("lean",), "stiffness": {"lean": 3000.0}, "damping": {"lean": 150.0}}
                if rider == "leaning rider"
                else {}
            )
            parts.rider(m, "rider", frame["saddle"], **own)

    def _fork(self, head: str, base: float, hub: float) -> dr.parts.Part:
        m = self.model
        match self.choose("rigid fork", "telescopic fork", "leading link"):
            case "rigid fork":
                given = {"mass": 14, "center_of_mass": (1.2, 0.7), "inertia": (0.7, 0.6, 0.3)}
                return parts.rigid_fork(m, "fork", head, axle=(base, hub), **given)
            case "telescopic fork":
                return parts.telescopic_fork(m, "fork", head, axle=(base, hub), **self._springs(1000.0))
        pivot = (base - 0.14, hub + 0.03)
        own = {"stiffness": "600 N*m/rad", "preload": "130 N*m", "damping": 25.0}
        return parts.leading_link_fork(m, "fork", head, axle=(base, hub), pivot=pivot, **own)

    def _wide(self) -> None:
        """Three or four wheels; the trailer rolls on two."""
        m, rng = self.model, self.rng
        base, track, radius = rng.uniform(1.8, 2.8), rng.uniform(1.2, 1.6), 0.3
        corners = {"left": (0, track / 2, radius), "right": (0, -track / 2, radius)}
        front = (
            {"front": (base, 0, radius)}
            if self.kind == "trike"
            else {"first": (base, track / 2, radius), "second": (base, -track / 2, radius)}
        )
        corners |= front
        points = {f"{name}_hub": at for name, at in corners.items()} | {"hitch": (-0.6, 0, 0.4)}
        load = 1200.0
        mass = load * len(corners) / 9.81
        place = base * len(front) / len(corners)
        frame = parts.frame(m, "frame", mass=mass, center_of_mass=(place, 0.45), inertia=(150, 400, 450), points=points)
        struts = self.choose("struts", "stiff") == "struts"
        for name, at in corners.items():
            on = frame[f"{name}_hub"]
            if struts:
                on = parts.strut(m, f"{name}_strut", "frame", axle=at, **self._springs(load))["axle"]
            torque = {"torque": "drive_torque"} if name == "left" else {}
            parts.wheel(m, name, on, radius=radius, mass=12, inertia=(0.3, 0.5), **torque, **self._tire(load))
            self.wheels.append(name)
        if self.chance(0.5):
            joint = self.choose("spherical", "universal")
            sides = {"left_axle": (-3.0, 0.6, radius), "right_axle": (-3.0, -0.6, radius)}
            own = {"mass": 200.0, "center_of_mass": (-2.9, 0.5), "inertia": (60, 150, 180)}
            trailer = parts.trailer(m, "trailer", frame["hitch"], points=sides, joint=joint, **own)
            for side in ("left", "right"):
                parts.wheel(
                    m, f"towed_{side}", trailer[f"{side}_axle"], radius=radius, mass=12, inertia=(0.3, 0.5), **self._tire(1000.0)
                )
