"""Commands of the command line that have a file of their own."""
