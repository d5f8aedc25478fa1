"""The recursive formulation: articulated-body algorithm with contacts and loop closures, linear in the number of bodies."""
