"""One module per file format, each with `write(run, path)` and `read(path, limit)`."""
