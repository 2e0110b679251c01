"""The examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import mpicoll

#: Packages that need no MPI library and no NumPy.
PURE = ("algorithms", "analysis", "show", "formula", "registry", "spec", "steps", "topology")


def modules():
    found = []
    for module in pkgutil.walk_packages(mpicoll.__path__, "mpicoll."):
        if module.name.split(".")[1] in PURE:
            found.append(module.name)
    return found


@pytest.mark.parametrize("name", [*modules(), "mpicoll.commands.prove"])
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
