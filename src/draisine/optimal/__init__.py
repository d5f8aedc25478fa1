"""Optimal control: the maneuver is stated in the words of the model, and the control is found."""
