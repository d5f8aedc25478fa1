"""Random mechanisms as MJCF text, and the judge: MuJoCo's mass matrix and accelerations of the same file."""

from __future__ import annotations

import numpy as np

from draisine.dynamics.derive import derive


def numbers(values) -> str:
    return " ".join(repr(float(v)) for v in np.atleast_1d(values))


def orientation(rng: np.random.Generator) -> str:
    kind = rng.integers(0, 6)
    values = {0: "", 1: f'quat="{numbers(rng.normal(size=4))}"', 2: f'euler="{numbers(rng.uniform(-170, 170, 3))}"'}
    values |= {3: f'axisangle="{numbers([*rng.normal(size=3), rng.uniform(-170, 170)])}"'}
    values |= {4: f'xyaxes="{numbers(rng.normal(size=6))}"', 5: f'zaxis="{numbers(rng.normal(size=3))}"'}
    return values[int(kind)]


def pose(rng: np.random.Generator) -> str:
    return f'pos="{numbers(rng.normal(size=3) * 0.4)}" {orientation(rng)}'


def geom(rng: np.random.Generator) -> str:
    kind = str(rng.choice(["sphere", "capsule", "cylinder", "box", "ellipsoid"]))
    sizes = numbers(rng.uniform(0.05, 0.3, {"sphere": 1, "capsule": 2, "cylinder": 2}.get(kind, 3)))
    amount = str(rng.choice([f'mass="{rng.uniform(0.5, 2):.3f}"', f'density="{rng.uniform(200, 900):.3f}"', ""]))
    if kind in ("capsule", "cylinder") and rng.random() < 0.5:
        return f'<geom type="{kind}" fromto="{numbers(rng.normal(size=6) * 0.3)}" size="{rng.uniform(0.05, 0.2):.3f}" {amount}/>'
    return f'<geom type="{kind}" size="{sizes}" {pose(rng)} {amount}/>'


def inertial(rng: np.random.Generator) -> str:
    points = rng.normal(size=(5, 3)) * 0.3
    t = sum((r @ r) * np.eye(3) - np.outer(r, r) for r in points)
    place = f'pos="{numbers(rng.normal(size=3) * 0.2)}" mass="{rng.uniform(0.5, 2):.4f}"'
    if rng.random() < 0.5:
        full = numbers([t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[0, 2], t[1, 2]])
        return f'<inertial {place} fullinertia="{full}"/>'
    return f'<inertial {place} {orientation(rng)} diaginertia="{numbers(np.linalg.eigvalsh(t))}"/>'


def joints(rng: np.random.Generator, name: str, root: bool, terms: bool) -> str:
    kind = rng.choice(["one", "one", "two", "three", "ball", "none", *(["free", "free"] if root else [])])
    if kind == "none":
        return ""
    if kind == "free":
        return f'<freejoint name="{name}_free"/>'
    if kind == "ball":
        return f'<joint name="{name}_ball" type="ball" pos="{numbers(rng.normal(size=3) * 0.2)}"/>'
    text = ""
    for k in range({"one": 1, "two": 2, "three": 3}[str(kind)]):
        form = str(rng.choice(["hinge", "slide"]))
        extra = ""
        if terms:
            extra = f'damping="{rng.uniform(0, 1):.3f}" stiffness="{rng.uniform(0, 5):.3f}" springref="{rng.uniform(-1, 1):.3f}" '
            extra += f'ref="{rng.uniform(-0.5, 0.5):.3f}" armature="{rng.choice([0.0, 0.2]):.3f}"'
        place = f'axis="{numbers(rng.normal(size=3))}" pos="{numbers(rng.normal(size=3) * 0.2)}"'
        text += f'<joint name="{name}_{k}" type="{form}" {place} {extra}/>'
    return text


def random_mjcf(seed: int, terms: bool = False, most: int = 5) -> str:
    rng = np.random.default_rng(seed)
    children: dict[int, list[int]] = {k: [] for k in range(-1, most)}
    count = int(rng.integers(1, most + 1))
    for k in range(count):
        children[int(rng.integers(-1, k))].append(k)

    def body(k: int, root: bool) -> str:
        name = f"b{k}"
        own = joints(rng, name, root, terms) or ("" if k else f'<joint name="{name}_0" axis="0 1 0"/>')
        masses = inertial(rng) if rng.random() < 0.4 else ""
        geoms = "".join(geom(rng) for _ in range(1 + int(rng.integers(0, 2))))
        inside = "".join(body(c, False) for c in children[k])
        if rng.random() < 0.3:
            inside = f"<frame {pose(rng)}>{inside}{geom(rng)}</frame>"
        return f'<body name="{name}" {pose(rng)}>{own}{masses}{geoms}{inside}</body>'

    world = "".join(body(k, True) for k in children[-1])
    gravity = numbers(rng.normal(size=3) * 5)
    return f'<mujoco model="random{seed}"><option gravity="{gravity}"/><worldbody>{world}</worldbody></mujoco>'


class Judge:
    """A model, and MuJoCo's of the same file with contacts, limits and soft constraints disabled. v of MuJoCo is S(q) v of ours:
    its free joints have velocities in the axes of the world; rotors of armature follow their joints."""

    def __init__(self, mujoco, path, model) -> None:
        self.mujoco = mujoco
        self.theirs = mujoco.MjModel.from_xml_path(str(path))
        flags = mujoco.mjtDisableBit
        self.theirs.opt.disableflags |= (
            flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT | flags.mjDSBL_FRICTIONLOSS | flags.mjDSBL_EQUALITY
        )
        self.data = mujoco.MjData(self.theirs)
        self.equations = derive(model, work=False)
        self.q_index = {c.name: k for k, c in enumerate(self.equations.coordinates)}
        self.v_index = {v.name: k for k, v in enumerate(self.equations.velocities)}

    def state(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Random values, with rotors that follow."""
        q, v = rng.uniform(-0.9, 0.9, len(self.q_index)), rng.normal(size=len(self.v_index))
        for name, k in self.q_index.items():
            if name.endswith("_qw"):
                q[k : k + 4] = (turn := rng.normal(size=4)) / np.linalg.norm(turn)
            if name.endswith("_rotor"):
                q[k] = q[self.q_index[name.removesuffix("_rotor")]]
                v[self.v_index[f"{name}_rate"]] = v[self.v_index[f"{name.removesuffix('_rotor')}_rate"]]
        return q, v

    def set(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Put MuJoCo's data at a state; the matrix S by which its velocities follow from ours, and Ṡ v."""
        m = self.theirs
        s, rate = np.zeros((m.nv, len(v))), np.zeros(m.nv)
        for j in range(m.njnt):
            name, at, to = m.joint(j).name, m.jnt_qposadr[j], m.jnt_dofadr[j]
            if m.jnt_type[j] == self.mujoco.mjtJoint.mjJNT_FREE:
                self.data.qpos[at : at + 7] = q[[self.q_index[f"{name}_{c}"] for c in ("x", "y", "z", "qw", "qx", "qy", "qz")]]
                flat = np.zeros(9)
                self.mujoco.mju_quat2Mat(flat, self.data.qpos[at + 3 : at + 7])
                turn = flat.reshape(3, 3)
                slides, spins = ([self.v_index[f"{name}_{w}{c}"] for c in "xyz"] for w in "vw")
                s[to : to + 3, slides], s[to + 3 : to + 6, spins] = turn, np.eye(3)
                rate[to : to + 3] = turn @ np.cross(v[spins], v[slides])
            elif m.jnt_type[j] == self.mujoco.mjtJoint.mjJNT_BALL:
                self.data.qpos[at : at + 4] = q[[self.q_index[f"{name}_{c}"] for c in ("qw", "qx", "qy", "qz")]]
                s[to : to + 3, [self.v_index[f"{name}_w{c}"] for c in "xyz"]] = np.eye(3)
            else:
                self.data.qpos[at] = q[self.q_index[name]]
                s[to, self.v_index[f"{name}_rate"]] = 1.0
        self.data.qvel[:] = s @ v
        return s, rate

    def mass_matrix(self) -> np.ndarray:
        self.mujoco.mj_forward(self.theirs, self.data)
        full = np.zeros((self.theirs.nv, self.theirs.nv))
        self.mujoco.mj_fullM(self.theirs, full, self.data.qM) if hasattr(self.data, "qM") else self.mujoco.mj_fullM(
            self.theirs, self.data, full
        )
        return full
