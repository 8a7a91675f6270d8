"""What exists is documented: every setting, every method with its fields, the two guides."""

import re
from pathlib import Path

import pytest

from app.settings import PREFIX, SETTINGS
from backends.contract import Method, ModelRequest
from backends.discovery import find_methods

ROOT = Path(__file__).parents[2]
METHODS = list(find_methods().methods.values())


def text(name: str) -> str:
    """Return a document."""
    return (ROOT / name).read_text("utf-8")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_every_setting_is_in_the_readme_with_its_default(setting: object) -> None:
    name, default = PREFIX + setting.name, setting.default  # type: ignore[attr-defined]
    lines = [line for line in text("README.md").splitlines() if name in line]
    assert lines, f"{name} is not in README.md"
    assert not default or any(default in line.replace(name, "") for line in lines)


def test_the_readme_names_no_setting_that_is_not_there() -> None:
    named = set(re.findall(rf"{PREFIX}([A-Z_]+)", text("README.md")))
    assert named <= {s.name for s in SETTINGS}


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.key)
def test_every_method_has_a_page_that_names_its_fields(method: Method) -> None:
    page = text(f"docs/methods/{method.key}.md")
    assert page.startswith("# ")
    own = set(method.request.model_fields) - set(ModelRequest.model_fields)
    assert [name for name in sorted(own) if f"`{name}`" not in page] == []


def test_every_page_is_of_a_method() -> None:
    pages = {page.stem for page in (ROOT / "docs/methods").glob("*.md")}
    assert pages == {method.key for method in METHODS}


@pytest.mark.parametrize("name", ["docs/cache.md", "docs/adding-a-method.md", "CHANGELOG.md"])
def test_the_guides_exist(name: str) -> None:
    assert text(name).startswith("# ")
    assert len(text(name)) > 200


def test_links_between_documents_lead_somewhere() -> None:
    documents = [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    broken = [
        f"{document.name}: {target}"
        for document in documents
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text("utf-8"))
        if not (document.parent / target).exists()
    ]
    assert broken == []


def test_every_quarantine_is_listed() -> None:
    """Each test that may be skipped stands in tests/QUARANTINES.md by the name of its file."""
    listed = text("tests/QUARANTINES.md")
    skipping = [
        file
        for file in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"pytest\.(skip|mark\.skip|mark\.xfail|importorskip)", file.read_text("utf-8"))
        and file != Path(__file__)
    ]
    assert [f.name for f in skipping if f.name not in listed] == []
