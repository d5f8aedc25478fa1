"""Results: trajectories, linear models, their summaries, tables and files."""
