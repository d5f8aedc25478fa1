"""Scripts of the studio run by Node as a page runs them: classic scripts in one global scope, no modules, no documents."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

_HEAD = """
const { readFileSync } = require("node:fs");
const given = JSON.parse(readFileSync(0, "utf8"));
const load = (path) => { globalThis.Draisine = undefined; (0, eval)(readFileSync(path, "utf8")); return globalThis.Draisine; };
const numbers = (values) => Array.from(values, (v) => (Number.isFinite(v) ? v : String(v)));
const born = () => new Draisine.Live(Draisine.manifest, Draisine.programs);
"""


def run_node(body: str, given: Any, folder: Path) -> Any:
    """What the body of a function returns as JSON; `given` is what it is given, `load(path)` runs a script."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed: the studio's JavaScript is not run")
    driver = folder / "driver.cjs"
    driver.write_text(
        f"{_HEAD}\nconst reported = (() => {{\n{body}\n}})();\nconsole.log(JSON.stringify(reported));\n", encoding="utf-8"
    )
    done = subprocess.run(
        ["node", str(driver)], input=json.dumps(given), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
