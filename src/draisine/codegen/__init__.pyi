"""Machine code and generated source: compiled kernels, passes with their switches, objects of CasADi and JAX."""

from .compile import compile as compile, operation_counts as operation_counts
from .export.casadi_and_jax import as_casadi as as_casadi, as_jax as as_jax
from .passes import Passes as Passes
