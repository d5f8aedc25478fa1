"""Equations typed by hand or in SymPy, and equations written for people."""

from .differential_algebraic import implicit as implicit, semi_explicit as semi_explicit
from .first_order import first_order as first_order
from .from_sympy import from_sympy as from_sympy
from .lagrangian import lagrangian as lagrangian
from .rendering.listing import listing as listing
from .rendering.symbolic import symbolic_equations as symbolic_equations
from .sympy_bridge import to_sympy as to_sympy
