"""The bicycle made ready for pages, and run by Node."""

from __future__ import annotations

import json

import pytest

import draisine as dr
from draisine.studio.bundle import bundle
from studio_node import run_node


@pytest.fixture(scope="session")
def equations():
    return dr.derive(dr.gallery.bicycle())


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("studio")


@pytest.fixture(scope="session")
def made():
    return bundle("bicycle")


@pytest.fixture(scope="session")
def page(made, folder):
    """The path of the bicycle's script."""
    path = folder / "bicycle.js"
    path.write_text(made.as_script(), encoding="utf-8")
    return path


@pytest.fixture
def live(page, tmp_path):
    """Run the body of a function in which `live` is the bicycle and `given` is data."""

    def run(body, given=None):
        return run_node(f"load({json.dumps(str(page))});\nconst live = born();\n{body}", given, tmp_path)

    return run
