"""What the documents show must be what the code says."""

import ast
import importlib.util
import inspect
import re
from pathlib import Path

import pytest
from made import made

from mpicoll.algorithms import phases
from mpicoll.commands import COMMANDS
from mpicoll.registry import algorithms_of, collectives, find
from mpicoll.spec import SPECS
from mpicoll.trace.merge import merge
from mpicoll.trace.picture import picture

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def statements(text: str) -> list[str]:
    """Every statement in a text at any depth, in order and without layout or comments."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    return [ast.dump(node) for node in nodes]


def test_the_ring_in_the_readme_is_the_ring_of_the_package():
    block = next(b for b in re.findall(r"```python\n(.*?)```", README, re.S) if "yield" in b)
    lines = [line for line in block.splitlines() if line.strip()]
    assert len(lines) == 8
    shown_ring, shown_phase = block.split("\n\n")
    ring = statements(find("allreduce", "ring").source)
    assert [s for s in ring if "YieldFrom" in s][-2:] == statements(shown_ring)[:2]
    loop = ast.dump(ast.parse(shown_phase).body[0])
    assert loop in statements(inspect.getsource(phases.ring_reduce_scatter))


def gallery():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "tools/gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_gallery_has_every_collective_and_the_readme_s_picture():
    module = gallery()
    assert {collective for collective, _, _ in module.PICTURES} == set(SPECS)
    assert (ROOT / "docs/gallery.md").read_text() == module.document()
    (shown,) = re.findall(r"!\[.*\]\((.*svg)\)", README)
    assert Path(shown).name in {module.name_of(*each) for each in module.PICTURES}


def test_the_pictures_are_what_a_run_of_the_plan_gives():
    module = gallery()
    for each in module.PICTURES:
        drawn = picture(merge(made(*each)).calls[0])
        assert drawn == (ROOT / "docs/gallery" / module.name_of(*each)).read_text(), each


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_exist(path):
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.M)
    code = "\n".join(re.findall(r"`[^`\n]+`|^ {4}.*$", path.read_text(), re.M))
    for target in re.findall(r"\bmake ([a-z][a-z-]*)", code):
        assert target in targets, f"{path.name} names make {target}"
    for command in re.findall(r"\bmpicoll ([a-z]+)\b", code):
        assert command in COMMANDS, f"{path.name} names mpicoll {command}"
    for script in re.findall(r"\b((?:tests|examples|docs|mpicoll)/[\w./]+\.(?:py|md))", code):
        assert (ROOT / script).exists(), f"{path.name} names {script}"


def test_every_algorithm_says_in_its_first_sentence_what_moves():
    for collective in collectives():
        for algorithm in algorithms_of(collective):
            assert algorithm.summary.endswith("."), algorithm
