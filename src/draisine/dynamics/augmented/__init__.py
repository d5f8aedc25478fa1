"""The augmented formulation: accelerations and multipliers from [M −Aᵀ; A 0] at every evaluation."""
