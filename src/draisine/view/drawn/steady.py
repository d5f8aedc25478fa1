"""Branches of steady motions and atlases of turns, with their pictures: here stability and figures meet.

Results know no pictures; imported from here, a branch and an atlas can draw themselves.
"""

from __future__ import annotations

from typing import Any

from draisine.bicycle.hands_free_turns import hands_free_turns
from draisine.bicycle.turning_atlas import Atlas, turning_atlas
from draisine.stability.continuation.arclength import Steps
from draisine.stability.continuation.branch import Branch, Special, continuation

__all__ = ["Atlas", "Branch", "Special", "Steps", "continuation", "hands_free_turns", "turning_atlas"]


def _plot_branch(branch: Branch, *names: str, **options: Any) -> Any:
    """Named quantities along the branch as a Matplotlib figure; see `draisine.view.plots.branches.branch_figure`."""
    from draisine.view.plots.branches import branch_figure

    return branch_figure({branch.model: branch}, *names, **options)


def _plot_atlas(atlas: Atlas, **options: Any) -> Any:
    """Four maps of the turns as a Matplotlib figure; see `draisine.view.plots.branches.atlas_figure`."""
    from draisine.view.plots.branches import atlas_figure

    return atlas_figure(atlas, **options)


Branch.plot = _plot_branch  # type: ignore[assignment,method-assign]
Atlas.plot = _plot_atlas  # type: ignore[assignment,method-assign]
