"""`python -m draisine` is the command line."""

import sys

from draisine.cli import main

sys.exit(main())
