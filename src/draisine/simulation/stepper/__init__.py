"""The compiled stepping loop: steps, error control, events, recording."""
