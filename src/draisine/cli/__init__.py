"""The command line. `*_options.py` say what each command accepts; the other modules hold what the commands do."""
