"""Every place where the agent calls something, numbered, so that a test can have any one fail.

The agent's sources are rewritten while they are imported: `f(x)` is `__fault__("SITE", f)(x)`,
which calls the same function in the same frame, unless this is the site whose turn it is to raise.
Attributes and items of objects of other packages, iteration over what they give, and imports
within functions are sites too: each may run others' code. Installed before the agent is imported,
in a separate process; nothing of it is in the program.
"""

import ast
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any, Final

from typing_extensions import override

PACKAGE: Final = "kmonitor_agent"

NAMED: Final = ("system", "zeromq", "hdf5", "psutil", "nvml", "keras", "tensorflow", "import")
"""Kinds of callees that fail in all ways; of others, see `OTHERS`."""

OTHERS: Final = ("numpy", "library", "python")
"""Kinds of callees in which an allocation may fail."""

_BY_ROOT: Final = {
    "zmq": "zeromq",
    "h5py": "hdf5",
    "psutil": "psutil",
    "pynvml": "nvml",
    "keras": "keras",
    "tf_keras": "keras",
    "tensorflow": "tensorflow",
    "numpy": "numpy",
}
_PURE: Final = frozenset(
    {"_abc", "_collections", "_functools", "_operator", "abc", "builtins", "collections", "copy"}
    | {"dataclasses", "enum", "functools", "itertools", "math", "numbers", "operator", "re"}
    | {"string", "textwrap", "types", "typing", "_sre", "bisect", "heapq"}
)
"""Modules of Python that reach for nothing but memory."""


@dataclass(slots=True)
class Met:
    """A site that was met: the kind of callee, and the number of calls."""

    kind: str
    times: int = 0


@dataclass(slots=True)
class Injection:
    """Fault to inject at a site.

    Attributes:
        nth: Number of the call that fails, from 1.
        error: Error that is raised.
    """

    nth: int
    error: Callable[[], BaseException]


@dataclass(slots=True)
class Sites:
    """Sites met in this process since `is_armed`, the faults to inject, and those that were."""

    is_armed: bool = False
    met: dict[str, Met] = field(default_factory=dict[str, Met])
    injections: dict[str, Injection] = field(default_factory=dict[str, Injection])
    failed: list[str] = field(default_factory=list[str])

    def meet(self, site: str, kind: str) -> BaseException | None:
        """Count it; the error to raise, if it is its turn."""
        met = self.met.get(site)
        if met is None:
            met = self.met[site] = Met(kind)
        met.times += 1
        injection = self.injections.get(site)
        if injection is None or met.times != injection.nth:
            return None
        self.failed.append(site)
        return injection.error()


SITES: Final = Sites()


def install() -> None:
    """Have the agent's modules rewritten from now on; none may have been imported yet."""
    assert PACKAGE not in sys.modules, "the agent was imported before its sites were numbered"
    for name, function in (
        ("__fault__", _call),
        ("__fault_use__", _use),
        ("__fault_iter__", _iterate),
        ("__fault_import__", _import),
    ):
        setattr(builtins, name, function)
    sys.meta_path.insert(0, _Finder())


def all_sites() -> dict[str, list[str]]:
    """Every site of every module of the agent, by module; for what was never reached."""
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations
    root = Path(spec.submodule_search_locations[0])
    found: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*.py")):
        marker = _Marker(path)
        marker.visit(ast.parse(path.read_text()))
        found[str(path.relative_to(root))] = marker.calls
    return found


def _call(site: str, callee: Any) -> Any:
    if SITES.is_armed and (kind := _kind_of(callee)):
        error = SITES.meet(site, kind)
        if error is not None:
            raise error
    return callee


def _use(site: str, owner: Any) -> Any:
    if SITES.is_armed and (kind := _kind_of_object(owner)):
        error = SITES.meet(site, kind)
        if error is not None:
            raise error
    return owner


def _iterate(site: str, values: Any) -> Any:
    if SITES.is_armed and (kind := _kind_of_iterator(values)):
        error = SITES.meet(site, kind)
        if error is not None:
            return _fails_at_once(error)
    return values


def _import(site: str) -> None:
    if SITES.is_armed and (error := SITES.meet(site, "import")) is not None:
        raise error


def _fails_at_once(error: BaseException) -> Iterator[Any]:
    raise error
    yield


def _kind_of(callee: Any) -> str:
    """Package that a callee belongs to; empty for the agent's own."""
    if isinstance(callee, MethodType):
        callee = callee.__func__
    if isinstance(callee, type | FunctionType):
        return _kind_of_module(getattr(callee, "__module__", None))
    owner = getattr(type(callee), "__module__", "builtins")
    if owner != "builtins":  # an object that can be called
        return _kind_of_module(owner)
    bound_to = getattr(callee, "__self__", None)
    if bound_to is None or isinstance(bound_to, ModuleType):
        of_class = getattr(callee, "__objclass__", None)
        name = getattr(callee, "__module__", None) if of_class is None else of_class.__module__
        return _kind_of_module(name)
    kind = bound_to if isinstance(bound_to, type) else type(bound_to)
    return _kind_of_module(kind.__module__)


def _kind_of_object(owner: Any) -> str:
    kind = _kind_of_module(type(owner).__module__)
    return kind if kind in NAMED and kind != "system" else ""


def _kind_of_iterator(values: Any) -> str:
    if isinstance(values, GeneratorType):
        return _kind_of_module(
            values.gi_frame.f_globals.get("__name__") if values.gi_frame else ""
        )
    if not hasattr(type(values), "__next__"):
        return _kind_of_object(values)
    kind = _kind_of_module(type(values).__module__)
    return kind if kind in NAMED else ""


def _kind_of_module(name: Any) -> str:
    root = str(name or "builtins").partition(".")[0]
    if root in (PACKAGE, __name__.partition(".")[0], "__main__"):
        return ""
    if root in _BY_ROOT:
        return _BY_ROOT[root]
    if root in _PURE:
        return "python"
    return "system" if root in sys.stdlib_module_names else "library"


class _Finder(importlib.abc.MetaPathFinder):
    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != PACKAGE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    @override
    def get_code(self, fullname: str) -> CodeType:
        """Never from a cache of compiled files, and never into one."""
        path = Path(self.get_filename(fullname))
        tree = _Marker(path).visit(ast.parse(path.read_text(), str(path)))
        return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


class _Marker(ast.NodeTransformer):
    """Rewrites what functions do; modules and classes run when they are imported."""

    def __init__(self, path: Path) -> None:
        self._file = str(path).rpartition(f"{PACKAGE}/")[2]
        self._depth = 0
        self.calls: list[str] = []

    @override
    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self._depth += 1
        node.body = [each for old in node.body for each in self._statement(old)]
        self._depth -= 1
        return node

    @override
    def visit_Call(self, node: ast.Call) -> Any:
        if not self._depth:
            return self.generic_visit(node)
        what = ast.unparse(node.func) if _is_plain(node.func) else "()"
        node.args = [self.visit(each) for each in node.args]
        node.keywords = [self.visit(each) for each in node.keywords]
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        elif not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        site = self._site(node, "call", what)
        self.calls.append(site)
        node.func = _marked("__fault__", site, node.func)
        return node

    @override
    def visit_Attribute(self, node: ast.Attribute) -> Any:
        return self._used(node, f".{node.attr}")

    @override
    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return self._used(node, "[]")

    @override
    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        return self._iterates(node)

    @override
    def visit_comprehension(self, node: ast.comprehension) -> Any:
        self.generic_visit(node)
        return self._iterates(node)

    @override
    def visit_match_case(self, node: ast.match_case) -> Any:
        node.body = [self.visit(each) for each in node.body]  # a pattern takes no calls
        return node

    @override
    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        node.target = self.visit(node.target)
        node.value = None if node.value is None else self.visit(node.value)
        return node

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        new = self.visit(node)
        return new if isinstance(new, list) else [new]

    @override
    def visit_Import(self, node: ast.Import) -> Any:
        return self._imports(node, node.names[0].name)

    @override
    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        return self._imports(node, node.module or "")

    def _imports(self, node: ast.Import | ast.ImportFrom, name: str) -> Any:
        if not self._depth:
            return node
        site = self._site(node, "import", name)
        self.calls.append(site)
        return [ast.copy_location(ast.Expr(_marked("__fault_import__", site)), node), node]

    def _used(self, node: ast.Attribute | ast.Subscript, text: str) -> Any:
        before = ast.unparse(node.value) if _is_plain(node.value) else ""
        self.generic_visit(node)
        if self._depth:
            site = self._site(node, "use", before + text)
            node.value = _marked("__fault_use__", site, node.value)
        return node

    def _iterates(self, node: Any) -> Any:
        if self._depth:
            site = self._site(node.iter, "iterate", "")
            node.iter = _marked("__fault_iter__", site, node.iter)
        return node

    def _site(self, node: Any, how: str, what: str) -> str:
        return f"{self._file}:{node.lineno}:{node.end_col_offset} {how} {what}".rstrip()


def _is_plain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _marked(name: str, site: str, *given: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [ast.Constant(site), *given], [])
