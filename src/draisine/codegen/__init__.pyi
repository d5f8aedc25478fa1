"""Machine code and generated source: compiled kernels, passes with their switches, objects of CasADi and JAX."""

from .compile import compile as compile
from .derivative_maps import as_maps as as_maps
from .jit.jacobian import compile_jacobian as compile_jacobian
from .export.casadi_and_jax import as_casadi as as_casadi, as_jax as as_jax
from .export.ode import as_ode as as_ode
from .operation_counts import operation_counts as operation_counts
from .passes import Passes as Passes
