"""A rider: body segments from measurements, postures, and the assembly of a model."""
