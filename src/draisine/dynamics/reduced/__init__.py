"""The reduced formulation: constraints eliminated symbolically, M_r v̇_r = F_r."""
