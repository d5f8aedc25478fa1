"""Initial value problems: consistent starts, methods, events, control, and the driver that makes a run of them."""
