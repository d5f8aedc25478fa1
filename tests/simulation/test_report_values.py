"""Reports are compiled at once without much optimization, and with it when many samples were asked for: the same bits."""

from __future__ import annotations

import pytest

import draisine as dr
from draisine.simulation import report_values as reports


@pytest.mark.usefixtures("shipped_kernels")
def test_many_samples_in_several_runs_are_reported_by_optimized_code(monkeypatch: pytest.MonkeyPatch) -> None:
    equations, asked = dr.derive(dr.gallery.rolling_disk()), []

    def reporter(equations: dr.Equations, quick: bool = True, own=reports.reporter):
        asked.append(quick)
        return own(equations, quick)

    monkeypatch.setattr(reports, "_MANY_SAMPLES", 1000)
    monkeypatch.setattr(reports, "reporter", reporter)
    reports._evaluated.cache_clear()
    runs = [dr.simulate(equations, 1.0, start={"lean": 0.1}, samples=300) for _ in range(4)]
    assert asked[0] is True and asked[-1] is False  # 300 samples and those at steps, four times
    assert runs[0].data.tobytes() == runs[-1].data.tobytes()
