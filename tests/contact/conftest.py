"""Lets the tests of this folder share the judges."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

collect_ignore = ["siconos_scenes.py"]  # runs in the Python of Siconos, which is the system's
