"""Ensembles: many runs of one model with different parameters, inputs and starts, on all cores, reduced as they are computed.

`problem` sorts names and checks values, `distributions` gives the values of each run; `simulation.initial.batch` solves for the
starts; `batch` and `batch_stepper` run them in compiled code; `block` takes a block of runs from start to end. `reductions` says
what is kept, `statistics` and `storage` collect it; `job` is the work as data with its executors, `ensemble` the public function.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["distributions", "reductions"])
