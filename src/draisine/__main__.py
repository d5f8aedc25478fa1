"""`python -m draisine` is the command line."""

import sys

from draisine.cli.main import main

sys.exit(main())
