"""The built-in vocabularies are sound; a table of the user is read, or refused in one sentence."""

import re
from collections import Counter
from typing import get_args

import pytest

from backends.concepts.medical import LABELS, Domain, Template, concept_set, rows
from backends.concepts.table import MOST_CHARACTERS, ConceptSet, read_table
from backends.errors import BadRequest

DOMAINS: tuple[Domain, ...] = get_args(Domain)
TEMPLATES: tuple[Template, ...] = get_args(Template)
ROWS = {"age": 101, "drug": 125, "disease": 84, "symptom": 66, "progression": 50}
KEYS = {
    "age": ("age",),
    "drug": ("drug",),
    "disease": ("disease",),
    "symptom": ("symptom",),
    "progression": ("disease", "stage_order"),
}
CHAPTERS = {
    "I": "A00-B99",
    "II": "C00-D48",
    "III": "D50-D89",
    "IV": "E00-E90",
    "V": "F00-F99",
    "VI": "G00-G99",
    "VII": "H00-H59",
    "VIII": "H60-H95",
    "IX": "I00-I99",
    "X": "J00-J99",
    "XI": "K00-K93",
    "XII": "L00-L99",
    "XIII": "M00-M99",
    "XIV": "N00-N99",
    "XVII": "Q00-Q99",
}
HEADER = "prompt,label\n"
GOOD = HEADER + "".join(f"Text {i},{'ab'[i % 2]}\n" for i in range(6))


@pytest.mark.parametrize("domain", DOMAINS)
def test_rows_are_counted_unique_and_full(domain: Domain) -> None:
    table = rows(domain)
    assert len(table) == ROWS[domain]
    assert len({tuple(row[c] for c in KEYS[domain]) for row in table}) == len(table)
    for row in table:
        assert all(isinstance(cell, str) and cell.strip() == cell != "" for cell in row.values())
        assert None not in row


def test_stages_are_consecutive_with_one_baseline() -> None:
    orders: dict[str, list[int]] = {}
    baselines: Counter[str] = Counter()
    for row in rows("progression"):
        orders.setdefault(row["disease"], []).append(int(row["stage_order"]))
        baselines[row["disease"]] += int(row["is_baseline"])
        assert (row["is_baseline"] == "1") == (row["stage_order"] == "0")
    assert len(orders) == 9
    assert all(order == list(range(len(order))) for order in orders.values())
    assert set(baselines.values()) == {1}


def test_icd10_ranges_are_those_of_the_chapters() -> None:
    table = rows("disease")
    assert {row["icd10_chapter"] for row in table} <= set(CHAPTERS)
    assert all(row["icd10_range"] == CHAPTERS[row["icd10_chapter"]] for row in table)


def test_ages_are_0_to_100_in_every_wording() -> None:
    table = rows("age")
    assert [row["age"] for row in table] == [str(age) for age in range(101)]
    for row in table:
        years = "year" if row["age"] == "1" else "years"
        assert row["prompt"] == f"The patient is {row['age']} {years} old"
        assert row["prompt_male"] == f"The male patient is {row['age']} {years} old"
        assert row["prompt_female"] == f"The female patient is {row['age']} {years} old"
        assert row["prompt_words"] == f"The patient is {row['age_words']} {years} old"
        assert row["prompt_control"] == f"The car is {row['age']} {years} old"
        assert (row["is_adult"] == "1") == (int(row["age"]) >= 18)


def test_classes_have_the_sizes_of_the_design() -> None:
    assert set(Counter(row["body_system"] for row in rows("symptom")).values()) == {6}
    assert set(Counter(row["specialty"] for row in rows("disease")).values()) == {7}
    mechanisms = Counter(row["mechanism_class"] for row in rows("drug"))
    assert len(mechanisms) == 38
    assert sum(count >= 3 for count in mechanisms.values()) == 37
    specialties = Counter(row["specialty"] for row in rows("drug"))
    assert len(specialties) == 14
    assert (min(specialties.values()), max(specialties.values())) == (6, 15)


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("template", TEMPLATES)
def test_every_domain_makes_a_concept_set(domain: Domain, template: Template) -> None:
    concepts = concept_set(domain, template)
    n = ROWS[domain]
    assert len(concepts.prompts) == len(set(concepts.prompts)) == n
    assert list(concepts.labels) == list(LABELS[domain])
    assert all(len(column) == n for column in concepts.labels.values())
    assert next(iter(concepts.variants)) == "prompt"
    assert concepts.variants["prompt"] == concepts.prompts
    assert not any("{" in prompt or prompt[-1] in ".," for prompt in concepts.prompts)
    for name, prompts in concepts.variants.items():
        entities = concepts.variant_entities.get(name, concepts.entities)
        assert entities is not None
        assert len(prompts) == len(entities) == n
        assert all(e in p for p, e in zip(prompts, entities, strict=True))


def test_template_b_words_otherwise() -> None:
    for domain in DOMAINS:
        assert not set(concept_set(domain, "A").prompts) & set(concept_set(domain, "B").prompts)
    assert concept_set("age", "B").prompts[17] == "Age of the patient in years: 17"
    assert concept_set("drug", "B").prompts[0] == "The prescribed medication is lisinopril"


def test_values_and_groups_of_the_built_in_sets() -> None:
    assert len(concept_set("age", "A").variants) == 5
    assert concept_set("age", "A").values == [float(age) for age in range(101)]
    assert concept_set("age", "A").groups is None
    progression = concept_set("progression", "A")
    assert progression.groups == [row["disease"] for row in rows("progression")]
    assert progression.values == [float(row["stage_order"]) for row in rows("progression")]
    for domain in ("drug", "disease", "symptom"):
        assert concept_set(domain, "A").values is None


def table(text: str) -> ConceptSet:
    """Read a table given as text."""
    return read_table(text.encode(), "table")


def test_a_plain_table() -> None:
    concepts = table(GOOD)
    assert concepts.prompts == [f"Text {i}" for i in range(6)]
    assert concepts.labels == {"label": ["a", "b"] * 3}
    assert (concepts.entities, concepts.values, concepts.groups) == (None, None, None)
    assert concepts.variants == {"prompt": concepts.prompts}
    assert concepts.usable_classes("label") == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace(",", ";").encode(),
        GOOD.replace(",", "\t").encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.replace("\n", "\r").encode(),
        GOOD.replace("\n", "\n\n").encode(),
        GOOD.rstrip("\n").encode(),
        (GOOD + " , \n,\n").encode(),
        GOOD.replace("prompt,label", " prompt , label ").encode(),
        GOOD.replace("prompt", '"prompt"').encode(),
    ],
    ids=[
        "bom",
        "semicolon",
        "tab",
        "crlf",
        "cr",
        "blank lines",
        "no end",
        "blank cells",
        "spaces in header",
        "quotes",
    ],
)
def test_spellings_of_the_same_table(content: bytes) -> None:
    assert read_table(content, "table") == table(GOOD)


def test_quoted_cells_keep_separators_quotes_and_line_breaks() -> None:
    text = GOOD + '"first line\nsecond, ""quoted"" line",a\n'
    assert table(text).prompts[-1] == 'first line\nsecond, "quoted" line'
    semicolon = GOOD.replace(",", ";") + '"one; two, three";a\n'
    assert table(semicolon).prompts[-1] == "one; two, three"


def test_free_text_is_never_stripped_and_labels_are() -> None:
    concepts = table(GOOD + " Paris , a \n")
    assert concepts.prompts[-1] == " Paris "
    assert concepts.labels["label"][-1] == "a"


def test_text_that_others_would_run_is_plain_text() -> None:
    cells = [
        "<script>alert(1)</script>",
        "=cmd()",
        "=1+1",
        "@SUM(A1)",
        "{{7*7}}",
        "%s%n",
        "../../x",
    ]
    concepts = table(HEADER + "".join(f"{cell},{cell}\n" for cell in cells) + GOOD[len(HEADER) :])
    assert concepts.prompts[:7] == cells
    assert concepts.labels["label"][:7] == cells


def test_reserved_columns() -> None:
    text = "prompt,entity,value,group,kind\n" + "".join(
        f"Stage {i} of {g},{i},{i},{g},k{i}\n" for g in "xy" for i in range(3)
    )
    concepts = table(text)
    assert concepts.entities == ["0", "1", "2"] * 2
    assert concepts.values == [0.0, 1.0, 2.0] * 2
    assert concepts.groups == ["x"] * 3 + ["y"] * 3
    assert list(concepts.labels) == ["kind"]


def test_a_value_needs_no_labels() -> None:
    concepts = table("prompt,value\n" + "".join(f"Text {i},{i / 2}\n" for i in range(6)))
    assert concepts.values == [0, 0.5, 1, 1.5, 2, 2.5]
    assert concepts.labels == {}


def test_labels_that_are_missing_are_no_class() -> None:
    concepts = table(HEADER + "".join(f"Text {i},{'aaabbbc  '[i].strip()}\n" for i in range(9)))
    assert concepts.usable_classes("label") == ["a", "b"]


def test_exactly_6_and_1000_prompts_pass() -> None:
    long = HEADER + "".join(f"Text {i},{'ab'[i % 2]}\n" for i in range(1000))
    assert len(table(long).prompts) == 1000
    assert len(table(GOOD).prompts) == 6
    text = "x" * MOST_CHARACTERS
    assert table(GOOD + f"{text},a\n").prompts[-1] == text


def prompts(*cells: str) -> str:
    """Return a table with these prompts, and two classes."""
    return HEADER + "".join(f"{cell},{'ab'[i % 2]}\n" for i, cell in enumerate(cells))


def values(*cells: str) -> str:
    """Return a table with these values."""
    return "prompt,value\n" + "".join(f"Text {i},{cell}\n" for i, cell in enumerate(cells))


def stages(**groups: list[float]) -> str:
    """Return a table with these values in each group."""
    rows_ = [f"{g} at {i},{v},{g}\n" for g, cells in groups.items() for i, v in enumerate(cells)]
    return "prompt,value,group\n" + "".join(rows_)


REFUSED = {
    "no prompt column": (GOOD.replace("prompt", "text"), "no column prompt; it has: 'text'"),
    "capital": (GOOD.replace("prompt", "Prompt"), "no column prompt; it has: 'Prompt', 'label'"),
    "one class": (GOOD.replace(",b", ",a"), "No label column has two classes .* 'label'"),
    "small classes": (
        HEADER + "".join(f"Text {i},{'abcdef'[i]}\n" for i in range(6)),
        "No label column has two classes of at least 3 prompts; there are: 'label'",
    ),
    "no label column": ("prompt\n" + "".join(f"Text {i}\n" for i in range(6)), "a label column"),
    "only an entity": (
        "prompt,entity\n" + "".join(f"Text {i},Text\n" for i in range(6)),
        "neither a label column nor a column value",
    ),
    "2 prompts": (prompts("One", "Two"), "The table has 2 prompts; 6 to 1000 are allowed"),
    "5 prompts": (prompts(*"ABCDE"), "The table has 5 prompts; 6 to 1000"),
    "1001 prompts": (prompts(*map(str, range(1001))), "has 1001 prompts; 6 to 1000"),
    "40 equal prompts": (prompts(*["Same"] * 40), "Row 2 repeats the prompt of row 1;.* 1 diff"),
    "one repeated": (prompts(*"ABCDEFB"), "Row 7 repeats the prompt of row 2.* 6 different"),
    "empty prompt": (prompts("One", "", *"CDEF"), "Row 2 has an empty prompt"),
    "blank prompt": (prompts("One", "  ", *"CDEF"), "Row 2 has an empty prompt"),
    "long prompt": (
        prompts("One", "x" * 5000, *"CDEF"),
        "The prompt of row 2 has 5000 characters; at most 4000",
    ),
    "NaN": (values("1", "2", "nan", "4", "5", "6"), "value of row 3 is 'nan'; it must be a number"),
    "inf": (values("1", "2", "3", "-inf", "5", "6"), "value of row 4 is '-inf'; it must be a"),
    "huge": (values("1", "1e999", "3", "4", "5", "6"), "value of row 2 is '1e999'"),
    "text value": (values("1", "2", "3", "4", "five", "6"), "value of row 5 is 'five'"),
    "no value": (values("1", "2", "3", "4", "5", ""), "value of row 6 is ''"),
    "decimal comma": (
        values("1", "2", "3", "4", "5", "6").replace(",", ";").replace(";6", ";6,5"),
        "value of row 6 is '6,5'",
    ),
    "empty file": ("", "The table is empty; it needs a header with a column prompt"),
    "only white space": ("\n \n,\n", "The table is empty"),
    "header only": (HEADER, "The table has 0 prompts; 6 to 1000"),
    "NUL": (prompts("One\0", *"BCDEF"), "Line 2 of the table has a NUL character"),
    "repeated header": (GOOD.replace("label", "prompt"), "Column 'prompt' is there more than once"),
    "repeated label": (
        "prompt,a,a\n" + "".join(f"Text {i},x,y\n" for i in range(6)),
        "Column 'a' is there more than once",
    ),
    "blank header": (
        "prompt,,label\n" + "".join(f"Text {i},,{'ab'[i % 2]}\n" for i in range(6)),
        "Column 2 of the table has no name",
    ),
    "short row": (GOOD + "alone\n", "Row 7 has 1 cells; the header has 2"),
    "long row": (GOOD.replace("Text 2,a", "Text 2,a,b,c"), "Row 3 has 4 cells; the header has 2"),
    "21 label columns": (
        "prompt," + ",".join(f"c{i}" for i in range(21)) + "\n",
        "21 label columns; at most 20",
    ),
    "unclosed quote": (GOOD + '"open,a\n', "not a CSV that can be read"),
    "text after a quote": (GOOD + '"one" two,a\n', "not a CSV that can be read"),
    "group without value": (
        "prompt,group\n" + "".join(f"Text {i},g\n" for i in range(6)),
        "a column group but no column value",
    ),
    "stage gap": (stages(x=[0, 1, 3], y=[0, 1, 2]), r"Group 'x' has the values \[0.0, 1.0, 3.0\]"),
    "stage twice": (stages(x=[0, 1, 1], y=[0, 1, 2]), "Group 'x' has the values"),
    "stages from 1": (stages(x=[0, 1, 2], y=[1, 2, 3]), "Group 'y' has the values"),
    "two stages": (stages(x=[0, 1, 2, 3], y=[0, 1]), "Group 'y' has the values"),
    "half stages": (stages(x=[0, 0.5, 1], y=[0, 1, 2]), "Group 'x' has the values"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_cannot_be_used_is_refused_in_a_sentence(name: str) -> None:
    text, sentence = REFUSED[name]
    refused_in_a_sentence(text.encode(), sentence)


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        GOOD.replace("Text 0", "Grüße").encode("latin-1"),
        GOOD.encode("utf-16"),
        b"PK\x03\x04\x14\x00\x06\x00\xff\xd0",
    ],
    ids=["png", "latin-1", "utf-16", "xlsx"],
)
def test_a_file_that_is_no_text_is_refused_in_a_sentence(content: bytes) -> None:
    refused_in_a_sentence(content, "The table is not UTF-8 text; save it as CSV in UTF-8")


def refused_in_a_sentence(content: bytes, sentence: str) -> None:
    """Assert that a table is refused at its field, in one printable sentence."""
    with pytest.raises(BadRequest, match=sentence) as error:
        read_table(content, "table")
    text = str(error.value)
    assert error.value.field == "table"
    assert re.fullmatch("[A-Z].*[^.]\\.", text)
    assert text.isprintable()
    assert len(text) < 400


def test_names_in_sentences_are_cut() -> None:
    header = "x" * 10_000
    refused_in_a_sentence(f"{header}\na\n".encode(), "no column prompt")
    refused_in_a_sentence(values(*"12345", "y" * 10_000).encode(), "value of row 6")
    one_class = "prompt," + ",".join("c" * 100 + str(i) for i in range(20)) + "\n"
    with pytest.raises(BadRequest) as error:
        table(one_class + "".join(f"Text {i}" + ",a" * 20 + "\n" for i in range(6)))
    assert len(str(error.value)) < 1200
