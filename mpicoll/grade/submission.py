"""The text of a submission: where lines are, and what a look at it tells without running it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["Submission"]

#: What a program for these exercises does not need, and what a teacher may want to look at.
UNUSUAL = {
    "ctypes": "loads C libraries",
    "gc": "looks into the interpreter",
    "inspect": "looks into the interpreter",
    "subprocess": "starts programs",
    "multiprocessing": "starts processes",
    "socket": "opens connections",
    "mpicoll": "uses mpicoll itself",
    "importlib": "loads other code",
    "_getframe": "looks into the interpreter",
    "__subclasses__": "looks into the interpreter",
    "__closure__": "looks into the interpreter",
    "__globals__": "looks into the interpreter",
    "f2py": "makes communicators of its own",
}


@dataclass(frozen=True)
class Submission:
    """One file, for the function `name` with the arguments `arguments`."""

    path: Path
    name: str
    arguments: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        """The source; empty if it is no text."""
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    @cached_property
    def _tree(self) -> ast.AST:
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError):
            return ast.Module([], [])

    def line(self, number: int) -> str:
        """A line of the source."""
        lines = self.text.splitlines()
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def at(self, number: int) -> str:
        """A line for reports: its number and text.

        Empty if there is no such line.
        """
        text = self.line(number)
        return f"line {number}: {text}" if text else f"line {number}" if number else ""

    @cached_property
    def _function(self) -> ast.FunctionDef | None:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.FunctionDef) and node.name == self.name:
                return node
        return None

    def defines(self, *names: str) -> bool:
        """Whether the file defines a function of one of these names."""
        return any(isinstance(n, ast.FunctionDef) and n.name in names for n in self._tree.body)

    def parameter(self, role: str) -> str:
        """What the student calls the argument that has this role (recvbuf, buf, ...)."""
        if self._function is None or role not in self.arguments:
            return role
        names = [a.arg for a in (*self._function.args.posonlyargs, *self._function.args.args)]
        place = self.arguments.index(role)
        return names[place] if place < len(names) else role

    def rebinding(self, role: str) -> int:
        """The line where the function gives the argument's name to something else, or 0."""
        name = self.parameter(role)
        for node in ast.walk(self._function) if self._function else ():
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            if isinstance(node, ast.Assign | ast.AnnAssign):
                for target in targets:
                    parts = target.elts if isinstance(target, ast.Tuple) else [target]
                    if any(isinstance(p, ast.Name) and p.id == name for p in parts):
                        return node.lineno
        return 0

    def element_loop(self) -> int:
        """The line of a loop that looks like one over single elements, or 0."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.For) and "len(" in ast.unparse(node.iter) + " ":
                body = "".join(map(ast.unparse, node.body))
                if isinstance(node.target, ast.Name) and f"[{node.target.id}]" in body:
                    return node.lineno
        for node in ast.walk(self._tree):
            if isinstance(node, ast.For) and ".size" in ast.unparse(node.iter):
                return node.lineno
        return 0

    def unusual(self) -> list[str]:
        """Remarks for the teacher: what such a program does not need."""
        found = []
        for node in ast.walk(self._tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name.split(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [(node.module or "").split(".")[0]]
            elif isinstance(node, ast.Attribute):
                names = [node.attr]
            found += [
                f"line {node.lineno} uses {name}, which {UNUSUAL[name]}"
                for name in names
                if name in UNUSUAL
            ]
        return list(dict.fromkeys(found))
