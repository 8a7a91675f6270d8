"""Lesion, patching and the axis on the tiny model: one story each."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.points import click_point

SLOW = 60_000
DRAWN = """
selector => document.querySelector(selector)?.calcdata
  && document.querySelector(selector).closest('.gw-figure').querySelector('.gw-tag').hidden
"""


def run(page: Page, key: str, figure: str) -> None:
    """Press Run and wait for the result's figure."""
    expect(page.locator(f"#{key}-run")).to_be_enabled(timeout=SLOW)
    page.locator(f"#{key}-run").click()
    expect(page.locator(f"#{key}-status")).to_contain_text(
        re.compile("Done|Recalled"), timeout=SLOW
    )
    page.wait_for_function(DRAWN, arg=f"#{key}-{figure} .figure", timeout=SLOW)


def test_a_click_on_a_layer_opens_the_lesioned_answer(open_page: Callable[..., Page]) -> None:
    page = open_page("/?method=medical_lesion&model=tiny&domain=drug&n_questions=3&answer_tokens=6")
    run(page, "medical_lesion", "severity")
    expect(page.locator("#medical_lesion-tool")).to_contain_text("No patient data.")
    trace = page.evaluate(
        "document.querySelector('#medical_lesion-severity .figure')._fullData"
        ".findIndex(t => t.customdata && t.mode.includes('markers'))"
    )
    click_point(page, "#medical_lesion-severity .figure", trace, 1)
    expect(page.locator("#medical_lesion-answers")).to_contain_text("1", timeout=SLOW)
    expect(page).to_have_url(re.compile(r"look\.layer=1"))


def test_a_board_of_one_pair_and_a_cell_of_it(open_page: Callable[..., Page]) -> None:
    page = open_page(
        "/?method=medical_patching&model=tiny&positions=each&metric=log_probability"
        "&clean=The+patient+takes+aspirin+for&corrupted=The+patient+takes+insulin+for"
        "&answer=+pain&foil=+sugar"
    )
    run(page, "medical_patching", "board")
    trace = page.evaluate(
        "document.querySelector('#medical_patching-board .figure')._fullData"
        ".findIndex(t => t.type === 'heatmap')"
    )
    click_point(page, "#medical_patching-board .figure", trace, (0, 10))
    numbers = page.locator("#medical_patching-numbers")
    expect(numbers).to_contain_text("10, token")
    expect(numbers).to_contain_text("random direction")
    expect(page).to_have_url(re.compile(r"look\.cell=0%2C10"))


def test_four_techniques_stand_on_one_axis(open_page: Callable[..., Page]) -> None:
    page = open_page("/?method=medical_axis&model=tiny&domains=symptom%2Cdosage&quick=true")
    run(page, "medical_axis", "curves")
    words = page.locator("#medical_axis-words")
    expect(words).to_contain_text("symptom, layer")
    expect(words).to_contain_text("techniques have an interval")
    page.locator("#medical_axis-domain input").click()
    page.get_by_role("option", name="dosage").click()
    expect(words).to_contain_text("geometry: not defined")
