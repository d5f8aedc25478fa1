"""Every robot of the package example-robot-data is read and moves as in Pinocchio, or is refused by name."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from urdf_trees import Judge

import draisine as dr
from draisine.errors import ModelError

# what these files say that no model can have, and where it is refused
REFUSED = {
    "alex_psyonic_hands.urdf": "joint 'Left_index_q2' mimics 'index_q1', which is not a joint",
    "romeo_laas_small.urdf": "inertia of body 'LShoulderYaw_link': .* violate the triangle inequality",
    "romeo_small.urdf": "inertia of body 'RShoulderYawLink': .* violate the triangle inequality",
    "ur3.urdf": "the robot has no link",
}
MASSLESS = {"romeo.urdf": "'RThumb2_rate' can change without moving any mass"}  # fingers without mass
STILL = ("quadrotor_base.urdf", "iris_simple.urdf")  # one body, which moves with base="free"


def files() -> list[Path]:
    try:
        listed = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(file.locate())).resolve() for file in listed if file.suffix == ".urdf")


@pytest.mark.long
def test_every_example_moves_as_in_pinocchio_or_is_refused():
    reason = "pip install draisine[robots]"
    pin = pytest.importorskip("pinocchio", reason=f"pinocchio is an optional peer: {reason}")
    if not files():
        pytest.skip(f"the robots of example-robot-data are optional: {reason}")
    refused, seen = {}, 0
    for path in files():
        base = "free" if path.name in STILL else "fixed"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = dr.read_urdf(path, base=base)
            except ModelError as problem:
                assert re.search(r"\.urdf, line \d+: ", str(problem))
                refused[path.name] = str(problem)
                continue
        try:
            judge = Judge(pin, path, model, base)
        except ModelError as problem:
            refused[path.name] = str(problem)
            continue
        compare(judge, path.name)
        seen += 1
    assert seen >= 60
    assert refused.keys() <= REFUSED.keys() | MASSLESS.keys()
    for name, problem in refused.items():
        assert re.search((REFUSED | MASSLESS)[name], problem)


def compare(judge: Judge, name: str) -> None:
    """Mass matrix and forward dynamics, the latter with constraints of joints that mimic others."""
    rng = np.random.default_rng(1)
    e = judge.equations
    rows = judge.couplings()
    for _ in range(2):
        q, v = judge.state(rng)
        v -= np.linalg.pinv(rows) @ (rows @ v) if len(rows) else 0.0
        ours, mass = judge.mass_matrices(q, v)
        assert np.abs(ours - mass).max() < 1e-12 * np.abs(mass).max(), name
        u = rng.normal(size=len(e.inputs))
        free = mass @ judge.accelerations(q, v, judge.force(v, u))
        n = len(rows)
        system = np.block([[mass, -rows.T], [rows, np.zeros((n, n))]])
        expected = np.linalg.solve(system, np.append(free, np.zeros(n)))[: len(v)]
        kept = [judge.v_index[rate] for rate in e.independent]
        found = e.dynamics([0.0], np.concatenate([q, v[kept]]), u, e.default_parameters)[0][len(q) :]
        size = max(1.0, np.abs(expected).max())
        assert np.abs(found - expected[kept]).max() < 1e-10 * size, (name, np.abs(found - expected[kept]).max() / size)
