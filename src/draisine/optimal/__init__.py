"""Optimal control: maneuvers stated with the names of the model, solved by direct transcription or by adjoint gradients."""
