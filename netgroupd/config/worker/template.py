# SPDX-License-Identifier: GPL-2.0-or-later
"""Template text -> a compiled template whose output remembers the lines it came from.

Mako turns a template into a Python module that writes pieces of text to a list.
Here every constant piece is replaced by the same text carrying its position,
and every computed piece is preceded by an empty text carrying one.  Joining
them costs what it did before; ``trace`` reads the positions off afterwards.
"""

import ast
import re
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from mako import codegen, exceptions, parsetree
from mako.lexer import Lexer
from mako.lookup import TemplateCollection
from mako.template import ModuleInfo, ModuleTemplate

from netgroupd.config.linemap import LINE_BITS

_EMPTY = "there is nothing between '${' and '}'"


class Piece(str):
    """Text at a known place: ``origin`` of its beginning, ``inner`` those of the lines it begins."""

    __slots__ = ("blank", "ends_visible", "inner", "origin")
    blank: bool  # nothing but white space before its first line break
    ends_visible: bool  # something but white space after its last one
    inner: tuple[int, ...]
    origin: int

    @classmethod
    def at(cls, text: str, file: int, line: int) -> "Piece":
        """Place ``text`` at a line of a file."""
        piece = cls(text)
        piece.origin = file << LINE_BITS | line
        piece.inner = tuple(piece.origin + later for later in range(1, text.count("\n") + 1))
        piece.blank = not text.partition("\n")[0].strip()
        piece.ends_visible = bool(text.rpartition("\n")[2].strip())
        return piece


class Fetched(NamedTuple):
    """A template's text: the renderer's number for the file, its path, the name it answers to."""

    file: int
    path: str
    name: str
    text: str


class Unit(NamedTuple):
    """One template file in the worker, with what is needed to point into it."""

    file: int  # the renderer's number for it
    path: str
    text: str
    lines: tuple[int, ...]  # module line -> template line
    columns: dict[int, int]  # module line -> column of its expression, from 1
    tree: Any
    names: tuple[str, ...]  # what it defines itself, for suggestions
    undefined: tuple[str, ...]  # names its body needs from outside


def nodes_of(tree: Any) -> Iterator[Any]:
    """Walk a parsed template in the order it is written."""
    for node in tree.get_children():
        yield node
        if not isinstance(node, parsetree.ControlLine):  # what it encloses stands beside it as well
            yield from nodes_of(node)


def _text_of(value: object) -> str:
    if callable(value):
        name = getattr(value, "__name__", type(value).__name__)
        raise TypeError(f"{name!r} has no text before it is called; write ${{{name}(…)}}")
    return str(value)


class _EmptyError(Exception):
    """An expression of which nothing is written."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _Instrument(ast.NodeTransformer):
    """Replace what a module writes; collect the pieces it refers to."""

    def __init__(self, file: int, lines: tuple[int, ...], tree: Any) -> None:
        self._file = file
        self._lines = lines
        self._in_render = False
        self._expressions: dict[int, list[int]] = {}
        self._texts = set()
        for node in nodes_of(tree):
            if isinstance(node, parsetree.Expression):
                self._expressions.setdefault(node.lineno, []).append(node.pos)
            elif isinstance(node, parsetree.Text):
                self._texts.add((node.lineno, node.content))
        self.pieces: dict[str, Piece] = {}
        self.columns: dict[int, int] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer = self._in_render
        self._in_render = outer or node.name.startswith("render_")
        self.generic_visit(node)
        self._in_render = outer
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.AST]:
        call = node.value
        if not isinstance(call, ast.Call):
            return node
        if isinstance(call.func, ast.Name) and call.func.id == "__M_writer":
            if not call.args:
                raise _EmptyError(self._line(node))
            argument = call.args[0]
            if isinstance(argument, ast.Constant) and (self._line(node), argument.value) in self._texts:
                call.args[0] = self._name_of(str(argument.value), node)
                return node
            self._note_column(node)
            call.args[0] = ast.Call(ast.Name("_text", ast.Load()), [argument], [])
            return [self._marker(node), node]
        if self._in_render and ast.unparse(call.func) == "context.write":
            return [self._marker(node), node]
        return node

    def _note_column(self, node: ast.Expr) -> None:
        waiting = self._expressions.get(self._line(node))
        if waiting:
            self.columns[node.lineno] = waiting.pop(0)

    def _line(self, node: ast.stmt) -> int:
        return self._lines[min(node.lineno, len(self._lines)) - 1]

    def _name_of(self, text: str, node: ast.stmt) -> ast.Name:
        name = f"_piece_{len(self.pieces)}"
        self.pieces[name] = Piece.at(text, self._file, self._line(node))
        return ast.Name(name, ast.Load())

    def _marker(self, node: ast.stmt) -> ast.Expr:
        write = ast.Call(ast.Name("__M_writer", ast.Load()), [self._name_of("", node)], [])
        return ast.copy_location(ast.Expr(write), node)


def _defined(tree: Any) -> tuple[str, ...]:
    nodes = list(nodes_of(tree))
    assigned = {name for node in nodes if hasattr(node, "declared_identifiers") for name in node.declared_identifiers()}
    return tuple(assigned | {node.funcname for node in nodes if isinstance(node, parsetree.DefTag)})


def _imported(tree: Any) -> frozenset[str]:
    """Name what a template takes out of others by ``import``, which is there only when it runs; * stands for all."""
    said = [tag.attributes.get("import") for tag in nodes_of(tree) if isinstance(tag, parsetree.NamespaceTag)]
    return frozenset(name for names in said if names for name in re.split(r"\s*,\s*", names))


def _undefined_in_body(module: ast.Module) -> tuple[str, ...]:
    """Find the names that render_body takes from its context or fails without."""
    bodies = (node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == "render_body")
    raised = (ast.unparse(node) for body in bodies for node in _own_statements(body) if isinstance(node, ast.Raise))
    return tuple(found[1] for text in raised if (found := re.match(r"raise NameError\(\"'(\w+)'", text)))


def _own_statements(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Walk a function without the functions inside it: those may never be called."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.FunctionDef))


class Lookup(TemplateCollection):  # type: ignore[misc]  # mako has no types
    """Compile templates; ``fetch`` brings the included ones, by name, from the renderer."""

    def __init__(self, fetch: Callable[[str, str], Fetched]) -> None:
        super().__init__()
        self._fetch = fetch
        self._included: dict[str, ModuleTemplate] = {}
        self.units: dict[str, Unit] = {}
        self.files: dict[str, int] = {}  # by path, also of what did not compile

    def adjust_uri(self, uri: str, relativeto: str | None) -> str:
        """Keep the includer with the name: ``fetch`` looks beside it first."""
        return f"{uri}\n{relativeto}"

    def get_template(self, uri: str) -> ModuleTemplate:
        """Bring an included template."""
        if uri not in self._included:
            name, _, includer = uri.partition("\n")
            self._included[uri] = self.compile(self._fetch(name, includer))
        return self._included[uri]

    def compile(self, fetched: Fetched) -> ModuleTemplate:
        """Compile one text; Mako's own exceptions say what is wrong with it."""
        file, path, uri, text = fetched
        self.files[path] = file
        lexer = Lexer(text, path)
        tree = lexer.parse()
        source = codegen.compile(
            tree,
            uri,
            path,
            default_filters=[],  # each expression is made text below, after its filters: yaml() wants the value
            buffer_filters=(),
            source_encoding=None,
            generate_magic_comment=False,
            strict_undefined=True,
            reserved_names=codegen.RESERVED_NAMES,
        )
        lines = tuple(ModuleInfo.get_module_source_metadata(source, full_line_map=True)["full_line_map"])
        name = f"template {file} {path}"
        parsed = _parse(source, lines, path, text)
        imported = _imported(tree)
        undefined = (
            () if "*" in imported else tuple(name for name in _undefined_in_body(parsed) if name not in imported)
        )
        instrument = _Instrument(file, lines, tree)
        try:
            instrumented = ast.fix_missing_locations(instrument.visit(parsed))
        except _EmptyError as empty:
            column = text.split("\n")[empty.line - 1].find("${") + 1
            raise exceptions.SyntaxException(_EMPTY, text, empty.line, column, path) from empty
        names = (*_defined(tree), *imported)
        self.units[name] = Unit(file, path, text, lines, instrument.columns, tree, names, undefined)
        module = types.ModuleType(name)
        module.__dict__.update(instrument.pieces, _text=_text_of)
        exec(compile(instrumented, name, "exec"), module.__dict__)
        return ModuleTemplate(module, template_filename=path, template_source=text, module_source=source, lookup=self)


def _parse(source: str, lines: tuple[int, ...], path: str, text: str) -> ast.Module:
    """Parse a generated module; what Mako let pass is reported where the template has it."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        line = lines[min(error.lineno or 1, len(lines)) - 1]
        raise exceptions.SyntaxException(f"(SyntaxError) {error.msg}", text, line, 0, path) from error
