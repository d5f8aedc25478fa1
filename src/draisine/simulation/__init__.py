"""Initial value problems: consistent starts, integration methods, events, control, and the driver of a run."""
