"""PyTorch is an extra: nothing else imports it, and without it the backend says what is missing."""

import ast
import subprocess
import sys
from pathlib import Path

import mpicoll

PACKAGE = Path(mpicoll.__file__).parent


def imported_at_once(path):
    """What a module imports when it is imported itself."""
    waiting = list(ast.parse(path.read_text()).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            waiting += ast.iter_child_nodes(node)


def test_only_the_backend_imports_torch():
    importing = {
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        for name in imported_at_once(path)
        if name.split(".")[0] == "torch" or name.startswith("mpicoll.torch")
    }
    assert importing == {"torch"}


def test_the_backend_without_torch_says_what_to_install():
    program = "import sys; sys.modules['torch'] = None; import mpicoll; import mpicoll.torch"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("ImportError: mpicoll.torch needs PyTorch, which is not installed: ")
    assert "pip install 'mpicoll[torch]'" in last
