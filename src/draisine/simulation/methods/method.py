"""What `simulate` takes as a method."""

from __future__ import annotations

from draisine.simulation.methods.selection import Auto
from draisine.simulation.methods.tableau import SteppingMethod

Method = SteppingMethod | Auto
