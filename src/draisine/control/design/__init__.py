"""Design of feedback: regulators, observers, schedules, feedback linearisation; every law is compiled into the run."""
