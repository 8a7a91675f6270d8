"""Cache files: same content, same bytes; whatever is wrong with a file is noticed."""

import json
import os

import numpy as np
import pytest
import safetensors
from safetensors.numpy import load_file

from cache import CorruptFile, files
from cache.files import file_path, is_stale, open_file, read_file, remove_file, scan, write_file
from cache.header import CODES

KEY = "ab" * 32
META = {"title": "Größe", "numbers": [1, 2.5, None]}


def arrays():
    return {
        "scores": np.arange(6, dtype=np.float32).reshape(2, 3),
        "flags": np.array([True, False, True]),
        "empty": np.zeros((0, 4), dtype=np.float64),
        "one": np.array(3.5),
        "gaps": np.array([np.nan, np.inf]),
    }


@pytest.fixture
def path(tmp_path):
    target = file_path(tmp_path, KEY)
    write_file(target, arrays(), META)
    return target


def test_a_key_is_stored_under_its_first_two_digits(tmp_path):
    assert file_path(tmp_path, KEY) == tmp_path / "ab" / f"{KEY}.safetensors"


@pytest.mark.parametrize("key", ["", "ab", "AB" * 32, "../" * 21 + "x", KEY + "\n", KEY + "0"])
def test_other_keys_are_refused(tmp_path, key):
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        file_path(tmp_path, key)


def test_arrays_and_metadata_come_back(path):
    file = read_file(path)
    assert file.meta == META
    assert set(file.arrays) == set(arrays())
    for name, expected in arrays().items():
        assert file.arrays[name].dtype == expected.dtype
        np.testing.assert_array_equal(file.arrays[name], expected, strict=True)


@pytest.mark.parametrize("dtype", CODES)
def test_every_dtype_comes_back(tmp_path, dtype):
    array = np.arange(5).astype(dtype)
    write_file(file_path(tmp_path, KEY), {"odd": np.zeros(3, np.uint8), "z": array}, {})
    found = read_file(file_path(tmp_path, KEY)).arrays["z"]
    np.testing.assert_array_equal(found, array, strict=True)
    assert found.flags.aligned


def test_arrays_are_mapped_and_read_only(path):
    array = read_file(path).arrays["scores"]
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True


def test_a_strided_or_big_endian_array_comes_back_the_same(tmp_path):
    wide = np.arange(12, dtype=">f8").reshape(3, 4)
    target = file_path(tmp_path, KEY)
    write_file(target, {"turned": wide.T, "thinned": wide[:, ::2]}, {})
    found = read_file(target).arrays
    np.testing.assert_array_equal(found["turned"], wide.T)
    np.testing.assert_array_equal(found["thinned"], wide[:, ::2])


def test_the_same_content_gives_the_same_bytes(path):
    before = path.read_bytes()
    turned = dict(reversed(arrays().items()))
    turned["scores"] = np.asfortranarray(turned["scores"])
    write_file(path, turned, dict(reversed(META.items())))
    assert path.read_bytes() == before


def test_other_programs_can_read_the_file(path):
    found = load_file(path)
    assert set(found) == set(arrays())
    np.testing.assert_array_equal(found["scores"], arrays()["scores"])
    with safetensors.safe_open(path, framework="np") as reader:
        assert set(reader.metadata()) == {"digest", "glasswork"}


def test_no_arrays_and_no_metadata_is_a_file_too(tmp_path):
    write_file(file_path(tmp_path, KEY), {}, {})
    assert read_file(file_path(tmp_path, KEY)).arrays == {}


@pytest.mark.parametrize(
    "array",
    [np.array([None]), np.array(["text"]), np.zeros(2, np.complex128), np.zeros(1, "i4,f4")],
)
def test_other_dtypes_are_refused(tmp_path, array):
    with pytest.raises(ValueError, match=r"Array 'a' has dtype .*; a cache file holds bool, int8"):
        write_file(file_path(tmp_path, KEY), {"a": array}, {})


def test_the_name_of_the_metadata_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot be named '__metadata__'"):
        write_file(file_path(tmp_path, KEY), {"__metadata__": np.zeros(1)}, {})


def test_metadata_may_not_hold_nan(tmp_path):
    with pytest.raises(ValueError, match="only finite numbers"):
        write_file(file_path(tmp_path, KEY), {}, {"loss": float("nan")})
    assert scan(tmp_path).keys == frozenset()


def test_a_file_cut_short_anywhere_is_corrupt(path):
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(CorruptFile):
            open_file(path)


def test_bytes_at_the_end_are_corrupt(path):
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(CorruptFile, match="need 51 bytes"):
        open_file(path)


def test_no_changed_byte_is_shown(path):
    content = path.read_bytes()
    before = read_file(path)
    expected = {name: array.tobytes() for name, array in before.arrays.items()}
    del before
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        try:
            file = read_file(path)
        except CorruptFile:
            continue
        # Some bytes of the header have a twin, as in the escapes ö and Ö of JSON.
        assert file.meta == META
        assert {name: array.tobytes() for name, array in file.arrays.items()} == expected


@pytest.mark.parametrize("part", ["length", "header", "body"])
def test_noise_of_the_same_size_is_corrupt(path, part):
    content = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")
    first, last = {"length": (0, 8), "header": (8, start), "body": (start, len(content))}[part]
    content[first:last] = np.random.default_rng(0).bytes(last - first)
    path.write_bytes(content)
    with pytest.raises(CorruptFile):
        read_file(path)


def test_changed_metadata_is_corrupt(path):
    content = path.read_bytes()
    assert content.count(b"2.5") == 1
    path.write_bytes(content.replace(b"2.5", b"2.6"))
    assert open_file(path).meta["numbers"][1] == 2.6
    with pytest.raises(CorruptFile, match="does not match its digest"):
        read_file(path)


def test_swapped_names_are_corrupt(tmp_path):
    target = file_path(tmp_path, KEY)
    write_file(target, {"aa": np.array([1]), "bb": np.array([2])}, {})
    content = target.read_bytes()
    target.write_bytes(content.replace(b'"aa"', b'"cc"').replace(b'"bb"', b'"aa"'))
    with pytest.raises(CorruptFile):
        read_file(target)


@pytest.mark.parametrize(
    "header",
    [
        b"[]",
        b"{}",
        b'{"__metadata__":{"glasswork":"{}"}}',
        b'{"__metadata__":{"digest":"","glasswork":{}}}',
        b'{"__metadata__":{"digest":"","glasswork":"{"}}',
        b'{"__metadata__":{"digest":"","glasswork":"{}"},"a":{"dtype":"F99","shape":[0],"data_offsets":[0,0]}}',
        b'{"__metadata__":{"digest":"","glasswork":"{}"},"a":{"dtype":"U8","shape":[-1],"data_offsets":[1,0]}}',
        b'{"__metadata__":{"digest":"","glasswork":"{}"},"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}',
        b"[" * 100_000,
    ],
    ids=range(9),
)
def test_a_bad_header_is_corrupt(path, header):
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(CorruptFile):
        open_file(path)


@pytest.mark.parametrize(
    "places",
    [{"a": [1, 2]}, {"a": [0, 1]}, {"a": [0, 1], "b": [0, 1]}, {"a": [0, 1], "b": [2, 3]}],
    ids=["hole", "rest", "overlap", "outside"],
)
def test_arrays_that_do_not_cover_the_body_are_corrupt(path, places):
    document = {"__metadata__": {"digest": "", "glasswork": "{}"}}
    document |= {
        name: {"dtype": "U8", "shape": [1], "data_offsets": place} for name, place in places.items()
    }
    header = json.dumps(document).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"xy")
    with pytest.raises(CorruptFile, match="the file holds 2"):
        open_file(path)


def test_a_failing_write_leaves_nothing(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="No space left"):
        write_file(file_path(tmp_path, KEY), arrays(), META)
    assert list((tmp_path / "ab").iterdir()) == []


def test_a_file_in_use_is_not_deleted(path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "in use")  # as Windows says of a mapped file

    with monkeypatch.context() as patch:
        patch.setattr(files.Path, "unlink", refuse)
        assert not remove_file(path)
    assert remove_file(path)
    assert remove_file(path)
    assert not path.exists()


def test_a_large_file_is_synced(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(files, "CHECKED_WHEN_OPENED", 2000)
    write_file(file_path(tmp_path, KEY), {"a": np.zeros(10)}, {})
    assert synced == []
    write_file(file_path(tmp_path, KEY), {"a": np.zeros(1000)}, {})
    assert len(synced) == 1


def test_scan_lists_whole_and_temporary_files_only(path, tmp_path):
    temporary = path.with_name(f"{KEY}.1.ab.part")
    temporary.touch()
    (tmp_path / "index.sqlite").touch()
    (tmp_path / "ab" / "notes.txt").touch()
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / f"{KEY}.safetensors").touch()
    assert scan(tmp_path) == files.Listing(frozenset({KEY}), (temporary,))


@pytest.mark.parametrize(
    ("pid", "age", "stale"),
    [
        (os.getpid(), 0, False),  # being written
        (os.getpid(), 2 * files.DAY, True),  # forgotten
        (2**22 + 1, 0, True),  # above the largest number that Linux gives
        ("x", 0, True),
    ],
)
def test_temporary_files_of_the_dead_are_stale(tmp_path, monkeypatch, pid, age, stale):
    monkeypatch.setattr(files.psutil.Process, "create_time", lambda self: 0.0)
    temporary = tmp_path / f"{KEY}.{pid}.0011.part"
    temporary.touch()
    moment = temporary.stat().st_mtime - age
    os.utime(temporary, (moment, moment))
    assert is_stale(temporary) is stale


def test_a_writer_younger_than_its_file_is_another(tmp_path, monkeypatch):
    temporary = tmp_path / f"{KEY}.{os.getpid()}.0011.part"
    temporary.touch()
    monkeypatch.setattr(
        files.psutil.Process, "create_time", lambda self: temporary.stat().st_mtime + 60
    )
    assert is_stale(temporary)
