"""Branches of steady motions and atlases of turns, with their pictures: here stability and figures meet.

Results know no pictures; imported from here, a branch and an atlas can draw themselves.
"""

from __future__ import annotations

from typing import Any

from draisine.stability.continuation.atlas import Atlas, turning_atlas
from draisine.stability.continuation.branch import Branch, Special, continuation
from draisine.stability.continuation.following import Steps
from draisine.stability.continuation.hands_free import hands_free_turns

__all__ = ["Atlas", "Branch", "Special", "Steps", "continuation", "hands_free_turns", "turning_atlas"]


def _plot_branch(branch: Branch, *names: str, **options: Any) -> Any:
    """Named quantities along the branch as a Matplotlib figure; see `draisine.view.branches.branch_figure`."""
    from draisine.view.branches import branch_figure

    return branch_figure({branch.model: branch}, *names, **options)


def _plot_atlas(atlas: Atlas, **options: Any) -> Any:
    """Four maps of the turns as a Matplotlib figure; see `draisine.view.branches.atlas_figure`."""
    from draisine.view.branches import atlas_figure

    return atlas_figure(atlas, **options)


Branch.plot = _plot_branch  # type: ignore[assignment,method-assign]
Atlas.plot = _plot_atlas  # type: ignore[assignment,method-assign]
