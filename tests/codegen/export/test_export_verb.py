"""The verb and the command."""

from __future__ import annotations

import casadi as ca
import export_samples as samples
import numpy as np
import pytest

import draisine as dr
from draisine.cli.main import main
from draisine.errors import ExportError


def test_files_of_a_model(tmp_path):
    paths = dr.export(dr.gallery.bicycle(), ["c", "matlab"], ["dynamics", "mass_matrix"], tmp_path / "new" / "folder")
    assert [p.name for p in paths] == [
        "bicycle_dynamics.c",
        "bicycle_mass_matrix.c",
        "bicycle_dynamics.m",
        "bicycle_mass_matrix.m",
    ]
    text = paths[0].read_text(encoding="utf-8")
    for reported in (
        "state derivative",
        "Whipple–Carvallo",
        "trail [m] = 0.08: front contact behind",
        "dsteer_rate/dt [rad/s^2]",
        "push [N]",
    ):
        assert reported in text


def test_files_of_a_program_and_of_equations(tmp_path):
    (path,) = dr.export(samples.sample(), "rust", out=tmp_path)
    assert "pub fn sample(" in path.read_text(encoding="utf-8")
    (path,) = dr.export(dr.derive(dr.gallery.rolling_disk()), "js", "dynamics", tmp_path)
    assert path.name == "rolling_disk_dynamics.mjs"


def test_casadi_reads_its_file(tmp_path):
    (path,) = dr.export(dr.gallery.bicycle(), "casadi", out=tmp_path)
    equations = dr.derive(dr.gallery.bicycle())
    x = np.linspace(0.1, 0.5, 13)
    reported = ca.Function.load(str(path))(0.0, x, np.ones(3), equations.default_parameters)
    np.testing.assert_allclose(
        reported.full()[:, 0], equations.dynamics(0.0, x, np.ones(3), equations.default_parameters)[0], rtol=1e-13
    )


def test_nothing_is_written_when_the_call_is_wrong(tmp_path):
    with pytest.raises(ExportError, match=r"no language 'cobol' to export to; choose from c, fortran, .*casadi, fmu"):
        dr.export(dr.gallery.bicycle(), ["c", "cobol"], out=tmp_path / "here")
    with pytest.raises(ExportError, match="no program 'speed' to export"):
        dr.export(dr.gallery.bicycle(), "c", ["dynamics", "speed"], tmp_path / "here")
    with pytest.raises(ExportError, match="needs a whole system; 'sample' is a single program"):
        dr.export(samples.sample(), "fmu", out=tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_command(tmp_path, capsys):
    assert main(["export", "bicycle", "--lang", "c,julia", "--what", "dynamics, linear", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [
        str(tmp_path / name) for name in ("bicycle_dynamics.c", "bicycle_linear.c", "bicycle_dynamics.jl", "bicycle_linear.jl")
    ]
    assert main(["export", "bicycle", "--lang", "basic", "--out", str(tmp_path)]) == 2
    assert "there is no language 'basic'" in capsys.readouterr().err
    assert main(["export", "bicycle", "--lang", "fmu", "--out", str(tmp_path), "--speed", "3"]) == 0
    assert (tmp_path / "bicycle.fmu").is_file()
