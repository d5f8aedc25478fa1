"""Lets the tests of this folder share `export_runners` and `export_samples`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
