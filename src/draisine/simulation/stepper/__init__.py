"""The stepping loop, compiled: steps, error control, events, recording."""
