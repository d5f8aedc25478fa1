"""Design of feedback: regulators, observers, schedules, feedback linearization; every law is compiled into the run."""
