"""Measured machines by name: raw measurements of a bicycle that is known, riders on it, skates, and files that are refused."""

from __future__ import annotations

import importlib.util
import math
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest

import draisine as dr
from draisine.bicycle.parameter_file import BicycleText, parse_text
from draisine.bicycle.raw_measurements import parameters_of, parse_measured
from draisine.bicycle.ridden import seated
from draisine.cli.main import main
from draisine.parts.riders.postures import end_of
from draisine.parts.riders.solids import MassProperties, composed
from draisine.studio.bundle import bundle
from draisine.studio.studio import studio_page, studio_server

SEAT = {"lcs": 0.46, "hbb": 0.29, "lsp": 0.2, "lst": 0.5, "lamst": 1.2, "whb": 0.6, "LhbF": 0.80, "LhbR": 0.95}
TRUE = {p.name: p.default for p in dr.gallery.bicycle().freeze().parameters}


def forward(seed: int, split: bool) -> tuple[dict[str, float], dict[str, float]]:
    """What would be measured on a bicycle whose parameters are drawn at random: the other way round, by mechanics."""
    rng = np.random.default_rng(seed)
    lam, w, g = rng.uniform(0.2, 0.45), rng.uniform(0.9, 1.2), 9.81
    rf, rr = rng.uniform(0.3, 0.36, 2)
    offset = rng.uniform(0.03, 0.07)
    trail = (rf * math.sin(lam) - offset) / math.cos(lam)
    true = {"lam": lam, "w": w, "g": g, "rF": rf, "rR": rr, "c": trail}
    m = {"g": g, "nF": 13.0, "nR": 12.0, "dF": 26 * math.pi * rf, "dR": 24 * math.pi * rr, "lF": 0.29, "lR": 0.28}
    k, rod = rng.uniform(4, 6), {"mP": 5.5, "lP": 1.05, "dP": 0.03}
    m |= rod | {"TtP1": 2 * math.pi * math.sqrt(rod["mP"] / 12 * (3 * 0.015**2 + 1.05**2) / k)}
    for wheel in "FR":
        mass, yy = rng.uniform(1, 3), rng.uniform(0.1, 0.2)
        xx = rng.uniform(0.55, 0.7) * yy
        length = m[f"l{wheel}"]
        m |= {f"m{wheel}": mass, f"Tt{wheel}1": 2 * math.pi * math.sqrt(xx / k)}
        m[f"Tc{wheel}1"] = 2 * math.pi * math.sqrt((yy + mass * length**2) / (mass * g * length))
        true |= {f"m{wheel}": mass, f"I{wheel}yy": yy, f"I{wheel}xx": xx}
    if split:  # steer axis from offsets: a + b across it, c along it
        across = w * math.cos(lam) + (rf - rr) * math.sin(lam)
        along = w * math.sin(lam) - (rf - rr) * math.cos(lam)
        a = across - offset
        m |= {
            "h1": a - 0.02,
            "h2": 0.05,
            "h3": 0.03,
            "d1": 0.02,
            "d2": 0.02,
            "h4": offset + 0.4,
            "h5": 0.4,
            "d3": 0.03,
            "d4": 0.03,
        }
        m["d"] = math.hypot(along, a - offset) - 0.025
        high, far = 0.02, 0.6
        m |= {"h6": 0.3, "h7": 0.3 + high + 0.005, "d5": 0.01, "d6": 0.02, "l": far + 0.015}
        along_axis = math.sqrt(far**2 - high**2)
        behind = along_axis * math.sin(lam) - high * math.cos(lam)
        above = along_axis * math.cos(lam) + high * math.sin(lam)
    else:
        m |= {"w": w, "f": offset, "gamma": 90 - math.degrees(lam)}
        behind = above = 0.0
    hubs = {"B": (0.0, -rr), "H": (w, -rf), "S": (w, -rf), "G": (w - behind, -rf - above)}
    for part in "BSG" if split else "BH":
        hx, hz = hubs[part]
        x, z = hx + rng.uniform(0.1, 0.3), hz - rng.uniform(0.1, 0.4)
        mass = rng.uniform(2, 10)
        xx, zz, xz = rng.uniform(0.2, 0.6), rng.uniform(0.2, 0.6), rng.uniform(-0.1, 0.1)
        yy = rng.uniform(0.5, 1.0)
        length = math.hypot(x - hx, z - hz)
        m |= {f"m{part}": mass, f"Tc{part}1": 2 * math.pi * math.sqrt((yy + mass * length**2) / (mass * g * length))}
        for i, beta in enumerate((0.3, -1.1, 1.2, -0.4)[: 3 + split], 1):
            m[f"alpha{part}{i}"] = math.degrees(lam - beta)
            # the line z = hz − a/cos β − (x − hx) tan β passes through the center of mass
            m[f"a{part}{i}"] = math.cos(beta) * (hz - z - (x - hx) * math.tan(beta))
            c, s = math.cos(beta), math.sin(beta)
            m[f"Tt{part}{i}"] = 2 * math.pi * math.sqrt((xx * c * c - 2 * xz * s * c + zz * s * s) / k)
        values = {"m": mass, "x": x, "z": z}
        true |= {f"{q}{part}": value for q, value in values.items()}
        true |= {f"I{part}{q}": value for q, value in (("xx", xx), ("yy", yy), ("zz", zz), ("xz", xz))}
    if split:
        bodies = [_properties(true, part) for part in "SG"]
        both = composed(bodies)
        true |= {"mH": both.mass, "xH": both.center_of_mass[0], "zH": both.center_of_mass[2]}
        true |= {f"IH{q}": both.inertia[i, j] for q, i, j in (("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2), ("xz", 0, 2))}
    return m, true


def _properties(p, part):
    xx, yy, zz, xz = (p[f"I{part}{q}"] for q in ("xx", "yy", "zz", "xz"))
    inertia = np.array([[xx, 0, xz], [0, yy, 0], [xz, 0, zz]])
    return MassProperties(p[f"m{part}"], np.array([p[f"x{part}"], 0.0, p[f"z{part}"]]), inertia)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("split", [False, True])
def test_parameters_of_raw_measurements(seed, split):
    measured, true = forward(seed, split)
    found = parameters_of(measured, {}, "mine").values
    for name, value in found.items():
        assert value == pytest.approx(true[name], rel=1e-10, abs=1e-12), name


def test_uncertainties_against_differences():
    measured, _ = forward(3, True)
    rng = np.random.default_rng(0)
    sigma = {name: abs(value) * rng.uniform(0.001, 0.01) for name, value in measured.items()}
    found = parameters_of(measured, sigma, "mine")
    variance = dict.fromkeys(found.values, 0.0)
    for name, deviation in sigma.items():
        step = 1e-6 * abs(measured[name])
        more, less = (parameters_of({**measured, name: measured[name] + s}, {}, "mine").values for s in (step, -step))
        for result in variance:
            variance[result] += ((more[result] - less[result]) / (2 * step) * deviation) ** 2
    for name, value in variance.items():
        assert found.deviations[name] == pytest.approx(math.sqrt(value), rel=1e-6), name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("w 1.0", r"mine.txt, line 1: 'w 1.0' has no '='"),
        ("w = 1\nw = 2", r"mine.txt, line 2: 'w' is given twice, first in line 1"),
        ("wheel = 1", r"mine.txt, line 1: unknown measurement 'wheel'"),
        ("mB = -3", r"mine.txt, line 1: mB = -3 must be positive"),
        ("TtB1 = eval('1')", r"mine.txt, line 1: TtB1 = .* is not a number"),
    ],
)
def test_damaged_raw_files(text, message):
    with pytest.raises(dr.errors.ModelError, match=message):
        parse_measured(text, "mine.txt")


def test_missing_raw_measurements_are_named():
    measured, _ = forward(1, False)
    del measured["TcB1"]
    with pytest.raises(dr.errors.ModelError, match=r"mine: the measurement TcB1 is missing"):
        parameters_of(measured, {}, "mine")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder as BicycleParameters has it, of our own making."""
    root = tmp_path_factory.mktemp("data")

    def write(path: str, text: str) -> None:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    for name in ("Town", "Raw"):
        write(f"bicycles/{name}/RawData/{name}Measured.txt", "")
    (root / "bicycles/Town/Parameters").mkdir()
    light = {"m_frame": 12.0, "ixx_frame": 0.6, "iyy_frame": 0.9, "izz_frame": 0.5, "ixz_frame": 0.0, "z_frame": 0.5}
    town = dr.bicycle.MeasuredBicycle.of("Town", light, {"m_frame": 0.1, "x_frame": 0.01})
    town.write(root / "bicycles/Town/Parameters/TownBenchmark.txt")
    seat = "\n".join(f"{name} = {value}" for name, value in SEAT.items())
    write("bicycles/Town/RawData/TownMeasured.txt", seat)
    measured, _ = forward(0, False)
    write(
        "bicycles/Raw/RawData/RawMeasured.txt",
        "\n".join(f"{name} = {float(value)!r}+/-0.001" for name, value in measured.items()),
    )
    blades = dict.fromkeys(("rR", "mR", "IRxx", "IRyy", "rF", "mF", "IFxx", "IFyy"), 0.0)
    masses = {
        "w": 1.0,
        "c": 0.0,
        "lam": math.radians(5),
        "g": 9.81,
        "xB": 1.2,
        "zB": -0.4,
        "mB": 10.0,
        "xH": 1.02,
        "zH": -0.2,
        "mH": 1.0,
    }
    none = dict.fromkeys((f"I{p}{a}" for p in "BH" for a in ("xx", "yy", "zz", "xz")), 0.0)
    write("bicycles/Skate/Parameters/SkateBenchmark.txt", "\n".join(f"{n} = {v!r}" for n, v in (masses | none | blades).items()))
    (root / "riders/Anna/RawData").mkdir(parents=True)
    dr.parts.Human.of(1.72, 66.0).measurements.write(root / "riders/Anna/RawData/AnnaYeadonMeas.txt")
    ben = "mB = 72.0+/-2.0\nxB = 0.29\nyB = 0\nzB = -1.1\nIBxx = 8.0\nIBxz = -1.9\nIByy = 8.1\nIBzz = 2.4\n"
    write("riders/Ben/Parameters/BenTownBenchmark.txt", ben)
    return root


@pytest.fixture(scope="module")
def machines(folder):
    return dr.bicycle.machines(folder)


def test_names(machines):
    assert machines.bicycles == ("Raw", "Skate", "Town") and machines.riders == ("Anna", "Ben")
    with pytest.raises(KeyError, match=r"has no bicycle 'Twon'.*Town"):
        machines.bicycle("Twon")
    with pytest.raises(KeyError, match=r"has no rider 'Carl'; known are Anna, Ben"):
        machines.bicycle("Town", rider="Carl")
    with pytest.raises(
        dr.errors.ModelError, match=r"Raw: where a rider sits has not been measured; its raw measurements lack lcs"
    ):
        machines.bicycle("Raw", rider="Anna")


def test_from_raw_measurements_with_uncertainties(machines):
    bike = machines.bicycle("Raw")
    _, true = forward(0, False)
    assert bike.text.values["IBxz"] == pytest.approx(true["IBxz"], rel=1e-9) and bike.deviations["x_frame"] > 0
    assert bike.parameters["wheelbase"] == pytest.approx(true["w"], rel=1e-12)


def test_a_rider_sits_on_the_saddle_with_hands_on_the_bar(machines):
    bike = machines.bicycle("Town", rider="Anna")
    rider = bike.rider
    placed = rider.human.placed(rider.posture)
    seat = np.array([rider.seat[0], 0.0, rider.seat[1]])
    hand, foot = (end_of(placed, rider.human, limb, "left") + seat for limb in ("hand", "foot"))
    p = bike.parameters
    assert np.linalg.norm(hand - [0, 0, p["r_rear_wheel"]]) == pytest.approx(SEAT["LhbR"], rel=1e-12)
    assert np.linalg.norm(hand - [p["wheelbase"], 0, p["r_front_wheel"]]) == pytest.approx(SEAT["LhbF"], rel=1e-12)
    assert hand[1] == pytest.approx(0.3) and foot[2] == pytest.approx(SEAT["hbb"])
    assert np.hypot(foot[0], foot[2] - p["r_rear_wheel"]) == pytest.approx(SEAT["lcs"])
    # mass, center of mass and inertia are those of both together
    alone = machines.bicycle("Town").parameters
    xx, yy, zz, xz = (alone[f"i{a}_frame"] for a in ("xx", "yy", "zz", "xz"))
    frame = MassProperties(
        alone["m_frame"], np.array([alone["x_frame"], 0, alone["z_frame"]]), np.array([[xx, 0, xz], [0, yy, 0], [xz, 0, zz]])
    )
    both = composed([frame, rider.mass_properties()])
    assert p["m_frame"] == pytest.approx(both.mass) and p["z_frame"] == pytest.approx(both.center_of_mass[2])
    assert p["ixx_frame"] == pytest.approx(both.inertia[0, 0]) and p["ixz_frame"] == pytest.approx(both.inertia[0, 2])
    assert bike.deviations["m_frame"] == pytest.approx(0.1) and 0 < bike.deviations["x_frame"] < 0.01
    model = bike.model()
    assert any(body.name == "rider" and body.shapes for body in model.freeze().bodies)
    drawn, plain = (
        dr.linearize(m, {"speed": 5.0}, states=("lean", "steer")).essential().eigenvalues
        for m in (model, bike.model(drawn=False))
    )
    assert np.allclose(np.sort_complex(drawn), np.sort_complex(plain), atol=1e-9)


def test_a_rider_without_measurements(machines):
    bike = machines.bicycle("Town", rider="Ben")
    assert bike.rider is None and bike.parameters["m_frame"] == pytest.approx(84.0)
    assert bike.parameters["z_frame"] == pytest.approx((12 * 0.5 + 72 * 1.1) / 84)
    with pytest.raises(dr.errors.ModelError, match=r"the body of 'Ben' has not been measured"):
        machines.rider("Ben")


def test_models_to_choose_from(machines):
    assert set(machines.models()) == {"Raw", "Town"}  # a skate has other parameters
    ridden = machines.models(rider="Anna")
    assert set(ridden) == {"Town with Anna"}
    page = studio_page(machines.bicycle("Town", rider="Anna").model(), against=ridden)
    assert "Town with Anna" in page.text


def asked(server, path: str) -> str:
    connection = HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    assert answer.status == 200, text
    return text


def test_machines_are_chosen_from_the_list_of_the_studio(machines):
    """All of them by title, ridden and alone; the page of a ridden one has the human's shapes and the others to compare with."""
    offered = machines.vehicles(rider="Anna")
    assert set(offered) == {"Raw", "Skate", "Town", "Town with Anna"}
    assert "rider" in {body.name for body in offered["Town with Anna"].freeze().bodies}
    solids = bundle(offered["Town with Anna"]).manifest["solids"]
    assert solids["bodies"].index("rider") in {mesh["body"] for mesh in solids["meshes"]}
    with studio_server("Town with Anna", vehicles=offered) as server:
        first = asked(server, "/")
        for name, title in (("town_with_anna", "Town with Anna"), ("skate", "Skate"), ("motorcycle", "motorcycle")):
            assert f'{{"name":"{name}","title":"{title}"}}' in first.replace('": "', '":"').replace(", ", ",")
        town = asked(server, "/town")
        assert "Town with Anna" in town and "Whipple" in town
    again = {"one": offered["Town"], "two": offered["Town"]}
    with pytest.raises(dr.errors.ArgumentError, match="two vehicles are called town"):
        studio_server("bicycle", vehicles=again)


def test_machines_on_the_command_line(folder, tmp_path, capsys):
    assert main(["studio", "--machines", str(folder), "--list"]) == 0
    shown = capsys.readouterr().out
    assert "3 bicycles: Raw, Skate, Town" in shown and "2 riders: Anna, Ben" in shown and "motorcycle" in shown
    given = ["studio", "Town", "--machines", str(folder), "--rider", "Anna", "--static", str(tmp_path / "page")]
    assert main(given) == 0
    assert "Town with Anna" in (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    for words, reason in (
        (["studio", "Town", "--rider", "Anna"], "--rider needs --machines"),
        (["studio", "Town", "--machines", str(folder), "--rider", "Carl"], "has no rider 'Carl'"),
        (["studio", "Skate", "--machines", str(folder), "--rider", "Anna"], "Skate"),
    ):
        assert main([*words, "--static", str(tmp_path / "other")]) != 0
        assert reason in capsys.readouterr().err


def test_a_wheel_of_radius_zero_is_a_skate(machines):
    skate = machines.bicycle("Skate")
    assert skate.is_skate
    found = dr.modes(skate.model(), speed=np.linspace(2.0, 4.0, 21), states=("lean", "steer"))
    assert [c.kind for c in found.critical()] == ["weave"]
    assert found.critical()[0].value == pytest.approx(2.8410083, abs=1e-6)  # as that of Kooijman et al. in the gallery


def test_half_a_skate_is_refused():
    text = str(BicycleText({**dr.bicycle.MeasuredBicycle.of("x", {}).text.values, "rR": 0.0}))
    with pytest.raises(dr.errors.ModelError, match=r"rR = 0 is a skate, but rF = 0.35"):
        parse_text(text, "x")


def test_a_folder_without_machines_is_refused(tmp_path):
    with pytest.raises(dr.errors.ModelError, match=r"neither a folder 'bicycles' nor 'riders'"):
        dr.bicycle.machines(tmp_path)


def test_out_of_reach(machines):
    bike = machines.bicycle("Town").text
    with pytest.raises(dr.errors.ArgumentError, match=r"left foot would be"):
        seated(dr.parts.Human.of(1.2, 25.0), bike, SEAT, "Town")


@pytest.mark.skipif(importlib.util.find_spec("bicycleparameters") is None, reason="BicycleParameters is not installed")
def test_the_installed_package():
    found = dr.bicycle.machines()
    assert "Browser" in found.bicycles and found.bicycle("Browser").parameters["wheelbase"] == pytest.approx(1.121)
