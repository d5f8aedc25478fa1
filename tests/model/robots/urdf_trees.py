"""Random robots as URDF text, and the judge: Pinocchio's mass matrix and forward dynamics of the same file."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from draisine.dynamics.derive import derive
from draisine.model.model import Model

JOINTS = ("fixed", "revolute", "continuous", "prismatic", "floating", "planar")


def numbers(values) -> str:
    return " ".join(repr(float(v)) for v in np.atleast_1d(values))


def cloud(rng: np.random.Generator) -> np.ndarray:
    """The tensor of a cloud of points."""
    points = rng.normal(size=(5, 3)) * 0.3
    return sum((r @ r) * np.eye(3) - np.outer(r, r) for r in points)


def origin(rng: np.random.Generator) -> str:
    """Any place; angles at right angles too, where roll and yaw are about one axis."""
    xyz = rng.normal(size=3) * 0.4 * (rng.random(3) < 0.8)
    rpy = np.where(rng.random(3) < 0.3, rng.choice([0.0, np.pi / 2, -np.pi / 2, np.pi], 3), rng.uniform(-3, 3, 3))
    kind = rng.integers(0, 4)
    if kind == 0:
        return ""
    return f'<origin xyz="{numbers(xyz)}" rpy="{numbers(rpy)}"/>' if kind > 1 else f'<origin xyz="{numbers(xyz)}"/>'


def link(rng: np.random.Generator, name: str, massless: bool = False) -> str:
    if massless:
        return f'<link name="{name}"/>'
    t = cloud(rng)
    entries = " ".join(f'i{a}{b}="{float(t["xyz".index(a), "xyz".index(b)])!r}"' for a, b in ("xx", "yy", "zz", "xy", "xz", "yz"))
    mass = float(rng.uniform(0.5, 3))
    return f'<link name="{name}"><inertial>{origin(rng)}<mass value="{mass!r}"/><inertia {entries}/></inertial></link>'


def axis(rng: np.random.Generator) -> np.ndarray:
    """Coordinate axes, opposite ones, and vectors of any direction and length."""
    if rng.random() < 0.5:
        return np.eye(3)[rng.integers(0, 3)] * rng.choice([1.0, -1.0])
    return rng.normal(size=3) * rng.uniform(0.2, 4.0)


def random_urdf(seed: int, kinds: tuple[str, ...] = JOINTS, most: int = 7, terms: bool = False, rootless: bool = True) -> str:
    """A robot of up to `most` links below its root; a fixed link may be massless, with `rootless` also the root."""
    rng = np.random.default_rng(seed)
    text = [link(rng, "root", massless=rootless and bool(rng.random() < 0.3))]
    links = ["root"]
    wanted = int(rng.integers(1, most + 1))
    for k in range(wanted):
        kind = str(rng.choice(kinds)) if k else str(rng.choice([kind for kind in kinds if kind != "fixed"]))
        parent, name = str(rng.choice(links)), f"l{k}"
        text.append(link(rng, name, massless=kind == "fixed" and rng.random() < 0.3))
        direction = np.array([0.0, 0.0, 1.0]) if kind == "planar" else axis(rng)  # Pinocchio's planar joint has the normal z
        turns = kind in ("revolute", "prismatic", "continuous")
        dynamics = f'<dynamics damping="{rng.uniform(0, 2):.3f}" friction="{rng.uniform(0, 2):.3f}"/>' if terms and turns else ""
        limit = '<limit lower="-1.5" upper="2.5" effort="10" velocity="3"/>' if kind in ("revolute", "prismatic") else ""
        text.append(
            f'<joint name="j{k}" type="{kind}">{origin(rng)}<parent link="{parent}"/><child link="{name}"/>'
            f'<axis xyz="{numbers(direction)}"/>{limit}{dynamics}</joint>'
        )
        links.append(name)
    return f'<?xml version="1.0"?>\n<robot name="random{seed}">\n' + "\n".join(text) + "\n</robot>\n"


# -------------------------------------------------------------------- the judge


class Judge:
    """A model and Pinocchio's of the same file. Velocities of Pinocchio are V = S(q) v of ours: its floating and planar joints
    have velocities in body axes."""

    def __init__(self, pin, path: Path, model: Model, base: str = "fixed") -> None:
        self.pin, self.model, self.path = pin, model, path
        self.equations = derive(model, work=False)
        root = {"free": pin.JointModelFreeFlyer, "planar": pin.JointModelPlanar}
        self.theirs = pin.buildModelFromUrdf(str(path), *([root[base]()] if base in root else []))
        self.data = self.theirs.createData()
        self.q_index = {c.name: k for k, c in enumerate(self.equations.coordinates)}
        self.v_index = {v.name: k for k, v in enumerate(self.equations.velocities)}
        self.base = self.model.freeze().joints[0].child if base in root else ""

    def state(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        q = rng.uniform(-0.9, 0.9, len(self.q_index))
        for name, k in self.q_index.items():
            if name.endswith("_qw"):
                q[k : k + 4] = (turn := rng.normal(size=4)) / np.linalg.norm(turn)
        return q, rng.normal(size=len(self.v_index))

    def translated(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q of Pinocchio, the matrix S, and Ṡ v, by which a of Pinocchio is S a + Ṡ v."""
        qs, n = np.zeros(self.theirs.nq), len(v)
        s, rate = np.zeros((self.theirs.nv, n)), np.zeros(self.theirs.nv)
        for k in range(1, self.theirs.njoints):
            joint, name = self.theirs.joints[k], self.theirs.names[k]
            name = self.base if name == "root_joint" else re.sub(r"\W", "_", name)
            at, to = joint.idx_q, joint.idx_v
            if joint.nv == 1:
                own = q[self.q_index[name]]
                qs[at : at + joint.nq] = [own] if joint.nq == 1 else [np.cos(own), np.sin(own)]
                s[to, self.v_index[f"{name}_rate"]] = 1.0
            elif joint.nv == 3:
                x, y, turn = (q[self.q_index[f"{name}_{c}"]] for c in ("x", "y", "heading"))
                qs[at : at + 4] = [x, y, np.cos(turn), np.sin(turn)]
                spin = self.v_index[f"{name}_heading_rate"]
                s[to + 2, spin] = 1.0
                if f"{name}_vx" in self.v_index:
                    s[to, self.v_index[f"{name}_vx"]] = s[to + 1, self.v_index[f"{name}_vy"]] = 1.0
                    continue
                back = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
                own = [self.v_index[f"{name}_{c}_rate"] for c in "xy"]
                s[to : to + 2, own] = back
                rate[to : to + 2] = v[spin] * np.array([[0, 1], [-1, 0]]) @ back @ v[own]
            else:
                own = q[[self.q_index[f"{name}_{c}"] for c in ("x", "y", "z", "qx", "qy", "qz", "qw")]]
                qs[at : at + 7] = own
                spins = [self.v_index[f"{name}_w{c}"] for c in "xyz"]
                s[to + 3 : to + 6, spins] = np.eye(3)
                if f"{name}_vx" in self.v_index:
                    s[to : to + 3, [self.v_index[f"{name}_v{c}"] for c in "xyz"]] = np.eye(3)
                    continue
                back = self.pin.XYZQUATToSE3(own).rotation.T
                slides = [self.v_index[f"{name}_{c}_rate"] for c in "xyz"]
                s[to : to + 3, slides] = back
                rate[to : to + 3] = -np.cross(v[spins], back @ v[slides])
        return qs, s, rate

    def mass_matrices(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ours, from unit accelerations, and Pinocchio's."""
        p = self.equations.default_parameters
        rest = self.equations.inverse_dynamics(q, v, np.zeros(len(v)), p)[0]
        ours = np.column_stack([self.equations.inverse_dynamics(q, v, unit, p)[0] - rest for unit in np.eye(len(v))])
        qs, s, _ = self.translated(q, v)
        upper = np.triu(self.pin.crba(self.theirs, self.data, qs))
        return ours, s.T @ (upper + np.triu(upper, 1).T) @ s

    def force(self, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Generalized forces of motors, damping and dry friction, which Pinocchio leaves to its user."""
        found = np.zeros(len(v))
        for quantity, value in zip(self.equations.inputs, u, strict=True):
            found[self.v_index[f"{quantity.name.rsplit('_', 1)[0]}_rate"]] += value
        for parameter in self.equations.parameters:
            joint, kind = parameter.name.rsplit("_", 1)
            rate = v[self.v_index[f"{joint}_rate"]]
            found[self.v_index[f"{joint}_rate"]] -= parameter.default * (rate if kind == "damping" else np.sign(rate))
        return found

    def ours(self, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Our accelerations, of a tree without constraints."""
        e = self.equations
        x = np.concatenate([q, [v[self.v_index[name]] for name in e.independent]])
        rates = dict(zip(e.independent, e.dynamics([0.0], x, u, e.default_parameters)[0][len(q) :], strict=True))
        return np.array([rates[name] for name in self.v_index])

    def couplings(self) -> np.ndarray:
        """The rows A of A v = 0 of joints that mimic others, read from the file once more."""
        rows = []
        for joint in ElementTree.parse(self.path).getroot().iter("joint"):
            mimic = joint.find("mimic")
            if mimic is not None and joint.get("type") != "fixed":
                row = np.zeros(len(self.v_index))
                row[self.v_index[f"{joint.get('name')}_rate"]] = 1.0
                row[self.v_index[f"{mimic.get('joint')}_rate"]] -= float(mimic.get("multiplier", "1"))
                rows.append(row)
        return np.array(rows).reshape(len(rows), len(self.v_index))

    def accelerations(self, q: np.ndarray, v: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Pinocchio's, under generalized forces of our velocities."""
        qs, s, rate = self.translated(q, v)
        theirs = self.pin.aba(self.theirs, self.data, qs, s @ v, np.linalg.solve(s.T, force))
        return np.linalg.solve(s, theirs - rate)
