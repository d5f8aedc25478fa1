"""Commands of the command line, a file for each subject: what it adds to the parser, and what it does."""
