"""What `simulate` takes as a method."""

from __future__ import annotations

from draisine.simulation.methods.auto import Auto
from draisine.simulation.methods.explicit_tableau import SteppingMethod

Method = SteppingMethod | Auto
