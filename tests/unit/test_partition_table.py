"""Label tables of the user: every format by hand, the same from all, and every refusal."""

import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from backends.errors import BadRequest
from backends.partitions import limits
from backends.partitions.raw import label_text
from backends.partitions.sequence import PartitionSequence
from backends.partitions.table import LONGEST_NAME, read_array, read_partitions, short


def read(content: str | bytes, **options: Any) -> PartitionSequence:
    """Read a table given as text or bytes."""
    return read_partitions(content.encode() if isinstance(content, str) else content, **options)


def npy(array: np.ndarray, **options: Any) -> bytes:
    """Return an array as an NPY file."""
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def csv_of(array: np.ndarray) -> str:
    """Return labels by scale and element as a CSV with one row for each element."""
    header = ",".join(str(m + 1) for m in range(len(array)))
    return "\n".join([header, *(",".join(map(str, column)) for column in array.T.tolist())])


# What a file holds


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("first", ["", "element", "Name", "ID", "index"])
def test_a_csv_with_names_has_scales_as_header(separator: str, first: str) -> None:
    lines = [f"{first},0.5,2,10", "a,x,1,1", "b,y,1,1", "c,x,2,1"]
    found = read("\n".join(line.replace(",", separator) for line in lines))
    assert found.labels.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert found.labels.dtype == np.int32
    assert found.scales == [0.5, 2, 10]
    assert found.scale_names == ["0.5", "2", "10"]
    assert found.elements == ["a", "b", "c"]
    assert found.cluster_names == [["x", "y"], ["1", "2"], ["1"]]
    assert found.notes == []


def test_a_csv_without_names_counts_its_elements() -> None:
    found = read("\ufeff1,2\r\n7,-7\r\n7,5\r\n")
    assert found.elements == ["1", "2"]
    assert found.labels.tolist() == [[0, 0], [0, 1]]
    assert found.cluster_names == [["7"], ["-7", "5"]]


def test_a_header_without_numbers_names_the_scales() -> None:
    found = read("low,high\na,a\na,b\n")
    assert found.scales == [1, 2]
    assert found.scale_names == ["low", "high"]
    assert found.notes == ["The scales have no numbers as values; they are counted 1..2."]


def test_rows_of_a_csv_may_be_scales() -> None:
    found = read("t,a,b,c\n3,0,0,0\n1,0,1,1\n", rows="scales")
    assert found.scales == [1, 3]
    assert found.elements == ["a", "b", "c"]
    assert found.labels.tolist() == [[0, 1, 1], [0, 0, 0]]
    assert found.notes == ["The scales were not in order; they were sorted."]


def test_quoted_cells_may_hold_separators_and_lines() -> None:
    found = read('id,1\n"a,\nb","x,y"\nc,z\n')
    assert found.elements == ["a,\nb", "c"]
    assert found.cluster_names == [["x,y", "z"]]


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, "U3", "S3"])
def test_npy_has_elements_as_rows_and_may_be_turned(dtype: Any) -> None:
    array = np.array([[0, 1], [0, 1], [5, 0]]).astype(dtype)
    assert read(npy(array)).labels.tolist() == [[0, 0, 1], [0, 0, 1]]
    assert read(npy(array), rows="scales").labels.tolist() == [[0, 1], [0, 1], [0, 1]]
    assert read(npy(np.asfortranarray(array))).cluster_names == [["0", "5"], ["1", "0"]]
    assert read(npy(array)).notes == ["The scales have no values; they are counted 1..2."]


def test_json_has_a_list_for_each_scale() -> None:
    table = {
        "partitions": [[0, "0", 1.0], [1, 1, True]],
        "scales": [2, 0.1],
        "elements": [1, "b", None],
    }
    found = read(json.dumps(table))
    assert found.scales == [0.1, 2]
    assert found.labels.tolist() == [[0, 0, 1], [0, 0, 1]]
    assert found.cluster_names == [["1", "true"], ["0", "1"]]
    assert found.elements == ["1", "b", ""]


def test_json_may_be_turned_and_may_be_a_bare_list() -> None:
    found = read("  \n[[0, 1], [0, 2], [0, 1]]", rows="elements")
    assert found.labels.tolist() == [[0, 0, 0], [0, 1, 0]]
    assert found.scales == [1, 2]


def test_a_result_of_pygenstability_is_read() -> None:
    table = {
        "scales": [0.1, 1.0],
        "community_id": [[0, 1, 2], [0, 0, 1]],
        "NVI": [0.1, float("nan")],
        "selected_partitions": [1],
    }
    found = read(json.dumps(table))
    assert found.labels.tolist() == [[0, 1, 2], [0, 0, 1]]
    assert found.scales == [0.1, 1]


def test_labels_are_one_when_their_text_is() -> None:
    same = ["1", "1.0", " 1 ", "1.", 1, 1.0]
    assert {label_text(label) for label in same} == {"1"}
    assert [label_text(v) for v in ("-0.0", -0.0, "1.5", 1.5, "01", "a.0", "", None, 1e16)] == [
        *["0", "0", "1.5", "1.5", "01", "a.0", "", ""],
        "10000000000000000",
    ]


@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.int64,
        st.tuples(st.integers(1, 6), st.integers(1, 8)),
        elements=st.integers(-3, 10**12),
    )
)
def test_all_formats_give_the_same_labels(array: np.ndarray) -> None:
    wanted = read_array(array)
    whole = {"partitions": array.astype(float).tolist()}
    for found in (
        read(csv_of(array)),
        read(npy(array.T)),
        read(npy(array.T.astype(str))),
        read(json.dumps(array.tolist())),
        read(json.dumps(whole)),
    ):
        assert found.labels.tolist() == wanted.labels.tolist()
        assert found.scales == wanted.scales
        assert found.cluster_names == wanted.cluster_names
    for row, labels in zip(array, wanted.labels, strict=True):
        assert np.array_equal(row[:, None] == row, labels[:, None] == labels)


def test_one_element_and_one_scale_are_enough() -> None:
    for content in (b"5\nx\n", npy(np.array([["x"]])), b'[["x"]]'):
        found = read(content)
        assert found.labels.tolist() == [[0]]
        assert found.cluster_names == [["x"]]


def test_long_names_are_cut_and_stay_writable() -> None:
    table = {"partitions": [["x" * 500, "y\ud800"]], "elements": ["e" * 61, "e" * 60]}
    found = read(json.dumps(table))
    assert found.elements == ["e" * 59 + "…", "e" * 60]
    assert found.cluster_names == [["x" * (LONGEST_NAME - 1) + "…", "y?"]]
    assert len(short("z" * 1_000)) == LONGEST_NAME


def test_labels_that_differ_after_the_cut_are_two() -> None:
    assert read(json.dumps([["x" * 70 + "1", "x" * 70 + "2"]])).labels.tolist() == [[0, 1]]


# Noise and gaps

NOISY = "id,1,2\na,-1,0\nb,-1.0,0\nc,,0\nd,3,-1\ne,3,0\n"


def test_noise_is_alone_unless_asked_otherwise() -> None:
    found = read(NOISY, noise_label="-1")
    assert found.labels.tolist() == [[0, 1, 2, 3, 3], [0, 0, 0, 1, 0]]
    assert found.cluster_names == [["noise", "noise", "noise", "3"], ["0", "noise"]]
    assert found.notes == [
        "The 10 cells hold 3 noise ('-1') and 1 gap; each is a cluster of its own."
    ]


def test_noise_may_be_one_cluster_of_each_scale() -> None:
    found = read(NOISY, noise_label="-1.0", noise="one_cluster")
    assert found.labels.tolist() == [[0, 0, 0, 1, 1], [0, 0, 0, 1, 0]]
    assert "those of one scale are one cluster" in found.notes[0]


def test_elements_with_noise_may_be_dropped() -> None:
    found = read(NOISY, noise_label="-1", noise="drop")
    assert found.elements == ["e"]
    assert found.labels.tolist() == [[0], [0]]
    assert found.notes[0].endswith("elements with one were dropped, 4 of 5.")


def test_without_a_noise_label_only_gaps_are_noise() -> None:
    found = read(NOISY)
    assert found.labels.tolist() == [[0, 0, 1, 2, 2], [0, 0, 0, 1, 0]]
    assert found.notes == ["The 10 cells hold 1 gap; each is a cluster of its own."]
    assert read("[[1, null, null]]", noise="one_cluster").labels.tolist() == [[0, 1, 1]]


def test_dropping_everything_is_refused() -> None:
    with pytest.raises(BadRequest, match="All 2 elements are noise or a gap"):
        read("[[1, null], [null, 2]]", noise="drop")


def test_an_empty_line_is_no_element() -> None:
    found = read("1,2\n0,1\n,\n\n0,0\n")
    assert found.labels.tolist() == [[0, 0], [0, 1]]
    assert found.notes == ["2 empty rows were left out."]


# What is refused


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "The file is empty"),
        (" \n ", "The file is empty"),
        (",,\n,\n", "only empty cells"),
        (b"\xff\xfe1,2", "neither NPY nor text in UTF-8"),
        ("1,2\n0,\x00\n", "Line 2 of the table has a NUL"),
        ('1,2\n"x,1\n', "is not a CSV that can be read"),
        ("1,2\n", "no elements: no row follows"),
        ("name\na\nb\n", "no scales: its header has no column"),
        ("a,1,2\n0,0,1\n", "Scale 1 is 'a'"),
        ("1,inf\n0,0\n", "Scale 2 is 'inf'"),
        ("1,nan\n0,0\n", "Scale 2 is 'nan'"),
        ("1,1e999\n0,0\n", "Scale 2 is '1e999'"),
        ("a,,b\n0,0,1\n", "Scale 2 has neither a value nor a name"),
        ("1,2.0,2\n0,0,1\n", "Tied scales: scales 2 and 3 are both 2, .* lacks its header"),
        ("id,1,2\na,0,0\nb,0\n", "Row 2 ends before column 3: it has 2 cells; the header has 3"),
        ("id,1,2\na,0,0,5\n", "Row 1 goes on in column 4: it has 4 cells"),
        ("id,1,2\na,0,0\nb,0,NaN\n", r"Row 2, column 3 \('2'\) is 'NaN'"),
        ("[[1, 2], [3]]", "Row 2 ends before column 2"),
        ("[[1, 2], [3, NaN]]", "Row 2, column 2 is nan"),
        ("[[1, 2], [3, -Infinity]]", "Row 2, column 2 is -inf"),
        ("[[1, 2], [3, {}]]", "Row 2, column 2 is {}"),
        ("[]", "no scales"),
        ("[[]]", "no elements"),
        ("[1, 2]", "is no list of lists"),
        ('{"partitions": 3}', "is no list of lists"),
        ("{}", "neither 'partitions' nor 'community_id'; it has: nothing"),
        ('{"labels": [[1]]}', "it has: 'labels'"),
        (
            '{"partitions": [[1]], "scales": [1, 2]}',
            "'scales' has 2 entries; the partitions have 1",
        ),
        ('{"partitions": [[1]], "scales": 1}', "'scales' is no list"),
        ('{"partitions": [[1]], "elements": [[1]]}', "'elements' is no list"),
        ('{"partitions": [[1], [1]], "scales": [1, Infinity]}', "Scale 2 is 'inf'"),
        ('{"partitions": [[1], [1]], "scales": [1, true]}', "Scale 2 is 'true'"),
        ('{"partitions": [[1], [1]], "scales": [3, 3.0]}', "Tied scales: .* both 3"),
        ("[[1, 2], ", "The JSON cannot be read: .* in line 1"),
        ("[" * 100_000, "nested too deep"),
        ("[[" + "1" * 5_000 + "]]", "number of thousands of digits"),
        (npy(np.zeros((2, 2, 2))), r"3 axes; 2 are needed \(elements × scales\)"),
        (npy(np.zeros(3)), "1 axes; 2 are needed"),
        (npy(np.array([[None]]), allow_pickle=True), "pickled Python objects"),
        (npy(np.zeros((2, 2), complex)), "holds complex128"),
        (npy(np.zeros((0, 3))), "no elements"),
        (npy(np.zeros((3, 0))), "no scales"),
        (npy(np.array([[0, 1], [0, np.nan]])), "Row 2, column 2 is nan"),
        (npy(np.array([[0, np.inf]])), "Row 1, column 2 is inf"),
        (npy(np.array([["a", "b"], [" nan", "c"]])), "Row 2, column 1 is ' nan'"),
        (npy(np.array([[b"\xff"]])), "cannot be read"),
        (npy(np.zeros((9, 9)))[:-1], "cut off"),
        (npy(np.zeros((9, 9)))[:30], "header that cannot be read"),
        (b"\x93NUMPY\x09\x00", "header that cannot be read"),
    ],
)
def test_what_the_user_can_mend_is_a_sentence(content: str | bytes, sentence: str) -> None:
    with pytest.raises(BadRequest, match=sentence) as error:
        read(content, field="data")
    assert error.value.field == "data"
    assert str(error.value).endswith(".")


@pytest.mark.parametrize(
    "content",
    [
        "1\n" * 10_000_001,
        "\n".join([",".join(map(str, range(1_000))), *[",".join("1" * 1_000)] * 10_000]),
        npy(np.zeros((10_000, 1_000), np.int8)),
        "[" + ",".join(["[" + ",".join("1" * 1_000) + "]"] * 10_000) + "]",
    ],
    ids=["one column", "csv", "npy", "json"],
)
def test_ten_million_cells_are_refused_with_what_they_would_cost(content: str | bytes) -> None:
    with pytest.raises(BadRequest, match=r"would take about [\d,]+ .* and [\d.]+ GiB") as error:
        read(content)
    assert "10,000,000 cells" in str(error.value)
    assert "at most 1,000,000 are allowed" in str(error.value)


def test_an_array_that_the_file_does_not_hold_is_not_allocated() -> None:
    file = io.BytesIO()
    header = {"descr": "<i8", "fortran_order": False, "shape": (10**9, 10**9)}
    np.lib.format.write_array_header_1_0(file, header)
    with pytest.raises(BadRequest, match="cut off"):
        read(file.getvalue())


def test_the_limits_are_inclusive() -> None:
    limits.check_size((1_000, 1_000), "data")
    with pytest.raises(BadRequest, match=r"M = 1,001 scales .* at most 1,000"):
        limits.check_size((1, 1_001), "data")
    with pytest.raises(BadRequest, match=r"about 3 hours and 1,117\.6 GiB"):
        limits.check_size((10**9, 10), "data")


def test_a_first_column_of_different_texts_holds_names_and_is_said() -> None:
    read = read_partitions(b"city,first,second\nParis,1,1\nRome,1,2\nOslo,2,2\n")
    assert read.elements == ["Paris", "Rome", "Oslo"]
    assert read.labels.tolist() == [[0, 0, 1], [0, 1, 1]]
    assert any("'city', has a different text in each row" in note for note in read.notes)
    kept = read_partitions(b"first,second\na,1\na,2\nb,2\n")
    assert kept.labels.tolist() == [[0, 0, 1], [0, 1, 1]]


def test_rows_that_seem_to_be_scales_are_asked_about() -> None:
    with pytest.raises(BadRequest, match="choose rows = scales"):
        read_partitions(b"scale,a,b\n1,0,1\n2,0,0\n")
    read = read_partitions(b"scale,a,b\n1,0,1\n2,0,0\n", rows="scales")
    assert read.labels.tolist() == [[0, 1], [0, 0]]


def test_a_semicolon_goes_before_decimal_commas() -> None:
    with pytest.raises(BadRequest, match="'0,5'"):
        read_partitions(b"name;0,5;1\na;0;1\nb;1;1\n")


def test_labels_that_look_like_gaps_are_named() -> None:
    read = read_partitions(b"1,2\nNA,1\nx,1\nNA,2\n")
    assert any("'NA' counts as a cluster" in note for note in read.notes)
    marked = read_partitions(b"1,2\nNA,1\nx,1\nNA,2\n", noise_label="NA")
    assert not any("counts as a cluster" in note for note in marked.notes)
