"""The store: hits, misses, damage, limits and what happens when the disk refuses."""

import logging
import os
import sqlite3
import stat
from contextlib import closing

import numpy as np
import pytest

from cache import Report, Store, Usage, fingerprint, index, store
from cache.files import file_path

KIND = "result/knowledge_map/1"


def key_of(number):
    return fingerprint(KIND, {"number": number})


def put(target, number, size=1000, kind=KIND):
    array = np.random.default_rng(number).integers(0, 256, size, dtype=np.uint8)
    return target.put(key_of(number), kind, {"scores": array}, {"number": number}, {"n": number})


def is_intact(entry, number, size=1000):
    expected = np.random.default_rng(number).integers(0, 256, size, dtype=np.uint8)
    return bool((entry.arrays["scores"] == expected).all()) and entry.meta == {"number": number}


def overwrite(path, content):
    """Replace the content in place and move the clock, as any other program would."""
    before = path.stat().st_mtime_ns
    path.write_bytes(content)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def change(target, statement, *values):
    with closing(sqlite3.connect(target.root / "index.sqlite")) as db, db:
        return db.execute(statement, values).fetchall()


@pytest.fixture
def opened(tmp_path):
    return Store(tmp_path / "store")


def test_the_folder_is_private(tmp_path):
    target = Store(tmp_path / "a" / "b")
    assert stat.S_IMODE(target.root.stat().st_mode) == 0o700


def test_a_negative_limit_is_refused(tmp_path):
    with pytest.raises(ValueError, match="The limit -1 is below 0 bytes"):
        Store(tmp_path, -1)


def test_an_unknown_key_is_a_miss(opened):
    assert opened.get(key_of(1)) is None


def test_what_was_put_is_found(opened):
    made = put(opened, 1)
    found = opened.get(key_of(1))
    assert (made.hit, found.hit) == (False, True)
    assert made.key == found.key == key_of(1)
    assert is_intact(made, 1)
    assert is_intact(found, 1)


def test_another_store_at_the_same_root_finds_it(opened):
    other = Store(opened.root)
    put(opened, 1)
    assert is_intact(other.get(key_of(1)), 1)
    put(other, 2)
    assert is_intact(opened.get(key_of(2)), 2)
    other.delete(key_of(1))
    assert opened.get(key_of(1)) is None


def test_put_again_replaces(opened):
    opened.put(key_of(1), KIND, {}, {"number": 0})
    put(opened, 1)
    assert is_intact(opened.get(key_of(1)), 1)
    assert opened.usage().entries == 1


def test_metadata_looks_the_same_before_and_after(opened):
    made = opened.put(key_of(1), KIND, {}, {"pair": (1, 2)})
    assert made.meta == opened.get(key_of(1)).meta == {"pair": [1, 2]}


def test_what_cannot_be_stored_is_an_error(opened):
    with pytest.raises(ValueError, match="only finite numbers"):
        opened.put(key_of(1), KIND, {}, {"loss": float("inf")})
    with pytest.raises(ValueError, match="dtype object"):
        opened.put(key_of(1), KIND, {"a": np.array([None])}, {})
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        opened.get("../../etc/passwd")


def test_delete_and_clear(opened):
    for number in range(3):
        put(opened, number)
    opened.note_request(key_of(9), "knowledge_map", {})
    opened.delete(key_of(0))
    assert opened.get(key_of(0)) is None
    assert opened.clear() == 2
    assert opened.usage() == Usage(0, 0, opened.limit_bytes, {})
    assert opened.find_request(key_of(9)) is None
    assert opened.clear() == 0
    assert opened.verify() == Report(0, [], [], [], [])


def test_usage_counts_by_kind(opened):
    put(opened, 1)
    put(opened, 2)
    put(opened, 3, kind="part/knowledge_map/1")
    sizes = [file_path(opened.root, key_of(n)).stat().st_size for n in (1, 2, 3)]
    usage = opened.usage()
    assert (usage.entries, usage.bytes) == (3, sum(sizes))
    assert usage.by_kind == {KIND: (2, sizes[0] + sizes[1]), "part/knowledge_map/1": (1, sizes[2])}


def test_requests_come_back(opened):
    fields = {"text": "Größe", "layer": 3, "pair": [1, None]}
    opened.note_request(key_of(1), "knowledge_map", fields)
    assert Store(opened.root).find_request(key_of(1)) == ("knowledge_map", fields)
    assert opened.find_request(key_of(2)) is None
    opened.note_request(key_of(1), "mcbif", {})
    assert opened.find_request(key_of(1)) == ("mcbif", {})


# Damage


@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "header"])
@pytest.mark.parametrize("again", [False, True])
def test_a_damaged_file_is_a_miss_and_goes(opened, caplog, damage, again):
    put(opened, 1)
    path = file_path(opened.root, key_of(1))
    content = path.read_bytes()
    noise = np.random.default_rng(0).bytes(len(content))
    overwrite(
        path,
        {
            "cut": content[:-100],
            "noise": noise,
            "empty": b"",
            "header": noise[:300] + content[300:],
        }[damage],
    )
    reader = Store(opened.root) if again else opened
    assert reader.verify().corrupt == [key_of(1)]
    assert reader.get(key_of(1)) is None
    assert not path.exists()
    assert reader.usage().entries == 0
    assert reader.verify().clean
    (line,) = caplog.records
    assert (line.name, line.levelno) == ("glasswork.cache", logging.WARNING)
    assert key_of(1) in line.getMessage()


def test_noise_in_the_body_alone_is_a_miss(opened):
    put(opened, 1)
    path = file_path(opened.root, key_of(1))
    overwrite(path, path.read_bytes()[:-500] + bytes(500))
    assert opened.get(key_of(1)) is None


def test_a_file_under_another_name_is_a_miss(opened):
    put(opened, 1)
    put(opened, 2)
    file_path(opened.root, key_of(1)).replace(file_path(opened.root, key_of(2)))
    assert opened.get(key_of(2)) is None
    assert opened.get(key_of(1)) is None
    assert opened.usage().entries == 0


def test_a_small_file_is_checked_once_in_each_process(opened, monkeypatch):
    put(opened, 1)
    checked = []
    monkeypatch.setattr(store.CacheFile, "check", lambda file: checked.append(file.stamp))
    reader = Store(opened.root)
    reader.get(key_of(1))
    reader.get(key_of(1))
    assert len(checked) == 1
    path = file_path(opened.root, key_of(1))
    overwrite(path, path.read_bytes())
    reader.get(key_of(1))
    reader.get(key_of(1))
    assert len(checked) == 2


def test_a_large_file_is_checked_only_when_it_changed(opened, monkeypatch):
    put(opened, 1)
    monkeypatch.setattr(store, "CHECKED_WHEN_OPENED", 100)
    path = file_path(opened.root, key_of(1))
    unchanged = path.stat().st_mtime_ns
    path.write_bytes(path.read_bytes()[:-500] + bytes(500))
    os.utime(path, ns=(unchanged, unchanged))
    assert Store(opened.root).get(key_of(1)) is not None  # the price of not reading it all
    assert Store(opened.root).verify().corrupt == [key_of(1)]
    os.utime(path)
    assert Store(opened.root).get(key_of(1)) is None


def test_a_large_file_whose_row_was_made_at_start_is_checked(opened, monkeypatch):
    put(opened, 1)
    monkeypatch.setattr(store, "CHECKED_WHEN_OPENED", 100)
    change(opened, "DELETE FROM entries")
    path = file_path(opened.root, key_of(1))
    path.write_bytes(path.read_bytes()[:-500] + bytes(500))
    assert Store(opened.root).get(key_of(1)) is None


def test_a_large_file_is_trusted_after_its_check(opened, monkeypatch):
    put(opened, 1)
    monkeypatch.setattr(store, "CHECKED_WHEN_OPENED", 100)
    os.utime(file_path(opened.root, key_of(1)), ns=(5, 5))
    assert is_intact(Store(opened.root).get(key_of(1)), 1)

    def refuse(_):
        raise AssertionError("checked twice")

    monkeypatch.setattr(store.CacheFile, "check", refuse)
    assert is_intact(Store(opened.root).get(key_of(1)), 1)


def test_a_deleted_file_is_a_miss_and_its_row_goes(opened):
    put(opened, 1)
    file_path(opened.root, key_of(1)).unlink()
    assert opened.verify().missing == [key_of(1)]
    assert opened.get(key_of(1)) is None
    assert opened.usage().entries == 0


# The index


def test_a_file_without_a_row_is_a_hit_and_gets_its_row(opened):
    put(opened, 1)
    before = change(opened, "SELECT key, kind, bytes, mtime_ns, fields FROM entries")
    change(opened, "DELETE FROM entries")
    assert opened.verify().unindexed == [key_of(1)]
    assert is_intact(opened.get(key_of(1)), 1)
    assert change(opened, "SELECT key, kind, bytes, mtime_ns, fields FROM entries") == before


def test_a_deleted_index_is_rebuilt(opened):
    for number in range(5):
        put(opened, number)
    before = opened.usage()
    root = opened.root
    for path in root.glob("index.sqlite*"):
        path.unlink()
    again = Store(root)
    assert again.usage() == before
    assert again.verify() == Report(5, [], [], [], [])
    assert all(is_intact(again.get(key_of(number)), number) for number in range(5))


def test_another_schema_is_rebuilt(opened, monkeypatch):
    put(opened, 1)
    before = opened.usage()
    change(opened, "DROP TABLE activations")
    change(opened, "CREATE TABLE activations(other)")
    change(opened, "PRAGMA user_version = 999")
    again = Store(opened.root)
    assert again.usage() == before
    assert change(again, "PRAGMA user_version") == [(index.SCHEMA,)]
    assert len(change(again, "PRAGMA table_info(activations)")) == 5
    assert again.verify().clean


@pytest.mark.parametrize("ending", ["", "-wal"])
def test_an_index_of_noise_is_rebuilt(opened, ending):
    put(opened, 1)
    root = opened.root
    noise = np.random.default_rng(0).bytes(8192)
    for path in root.glob("index.sqlite*"):
        path.unlink()
    (root / f"index.sqlite{ending}").write_bytes(noise)
    again = Store(root)
    assert is_intact(again.get(key_of(1)), 1)
    assert again.usage().entries == 1


def test_the_index_has_the_tables_of_the_specification(opened):
    tables = change(opened, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    assert tables == [("activations",), ("entries",), ("requests",)]
    assert change(opened, "PRAGMA journal_mode") == [("wal",)]
    here = opened.index._db()
    assert here.execute("PRAGMA synchronous").fetchone() == (1,)  # NORMAL
    assert here.execute("PRAGMA busy_timeout").fetchone() == (30_000,)


def test_tables_that_another_process_just_made_stay(opened):
    put(opened, 1)
    index._make_tables(opened.index._db())
    assert opened.usage().entries == 1


def test_use_is_noted_at_most_once_a_minute(opened):
    put(opened, 1)
    (written,) = change(opened, "SELECT used FROM entries")
    opened.get(key_of(1))
    assert change(opened, "SELECT used FROM entries") == [written]
    change(opened, "UPDATE entries SET used = used - 100")
    opened.get(key_of(1))
    assert change(opened, "SELECT used FROM entries")[0][0] >= written[0]


# The limit


def test_the_least_recently_used_go_until_90_percent(tmp_path):
    target = Store(tmp_path)
    for number in range(10):
        put(target, number)
        change(target, "UPDATE entries SET used = ? WHERE key = ?", number, key_of(number))
    change(target, "UPDATE entries SET used = 1e9 WHERE key = ?", key_of(0))
    size = target.usage().bytes // 10
    target = Store(tmp_path, 10 * size + size // 2)
    put(target, 10)
    assert target.usage().bytes <= 0.9 * target.limit_bytes
    kept = [number for number in range(11) if target.get(key_of(number))]
    assert kept == [0, 3, 4, 5, 6, 7, 8, 9, 10]
    assert target.verify().clean


def test_under_the_limit_nothing_goes(tmp_path):
    target = Store(tmp_path)
    put(target, 1)
    target = Store(tmp_path, 2 * target.usage().bytes)
    put(target, 2)
    assert target.usage().entries == 2


def test_the_entry_just_written_stays(tmp_path):
    target = Store(tmp_path, 100)
    put(target, 1)
    assert is_intact(put(target, 2), 2)
    assert target.get(key_of(1)) is None
    assert is_intact(target.get(key_of(2)), 2)


def test_an_evicted_entry_can_still_be_read(tmp_path):
    target = Store(tmp_path, 100)
    made = put(target, 1)
    put(target, 2)
    assert target.get(key_of(1)) is None
    assert is_intact(made, 1)


def test_a_file_that_cannot_be_deleted_is_left_for_later(tmp_path, monkeypatch):
    target = Store(tmp_path, 100)
    put(target, 1)

    with monkeypatch.context() as patch:
        patch.setattr("cache.eviction.remove_file", lambda path: False)
        put(target, 2)
    assert target.usage().entries == 2
    put(target, 3)
    assert target.usage().entries == 1


# A disk that refuses


def refuse_write(*_):
    raise OSError(28, "No space left on device")


def refuse_row(*_, **__):
    raise sqlite3.OperationalError("disk I/O error")


@pytest.mark.parametrize(
    ("place", "refuse"),
    [
        ("os.replace", refuse_write),
        ("cache.files._write", refuse_write),
        ("cache.index.Index.add", refuse_row),
        ("cache.store.evict", refuse_row),
    ],
)
def test_a_failing_write_gives_an_entry_in_memory(opened, monkeypatch, caplog, place, refuse):
    monkeypatch.setattr(place, refuse)
    made = put(opened, 1)
    assert is_intact(made, 1)
    assert not made.hit
    assert not made.arrays["scores"].flags.writeable
    assert key_of(1) in caplog.text
    assert list(opened.root.rglob("*.part")) == []


def test_an_entry_in_memory_looks_like_one_from_disk(opened, monkeypatch):
    arrays = {"turned": np.arange(6, dtype=">f4").reshape(2, 3).T, "one": np.array(1)}
    stored = opened.put(key_of(1), KIND, arrays, {"pair": (1, 2)})
    monkeypatch.setattr("os.replace", refuse_write)
    kept = opened.put(key_of(2), KIND, arrays, {"pair": (1, 2)})
    assert kept.meta == stored.meta
    for name, array in kept.arrays.items():
        assert array.dtype == stored.arrays[name].dtype
        np.testing.assert_array_equal(array, stored.arrays[name], strict=True)


def test_a_broken_index_costs_no_result(opened, monkeypatch):
    put(opened, 1)
    monkeypatch.setattr(opened.index, "_db", refuse_connection)
    assert is_intact(opened.get(key_of(1)), 1)
    assert opened.get(key_of(2)) is None
    assert is_intact(put(opened, 3), 3)
    opened.note_request(key_of(1), "x", {})
    assert opened.find_request(key_of(1)) is None
    assert is_intact(opened.get(key_of(3)), 3)


def test_a_store_opens_without_its_index(tmp_path, monkeypatch):
    monkeypatch.setattr("cache.index.Index._db", refuse_connection)
    target = Store(tmp_path)
    put(target, 1)
    assert is_intact(target.get(key_of(1)), 1)


def refuse_connection(*_):
    raise sqlite3.OperationalError("database is locked")


def test_a_file_that_may_not_be_opened_is_a_miss_and_stays(opened, monkeypatch):
    put(opened, 1)

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(store.Path, "open", refuse)
        assert opened.get(key_of(1)) is None
    assert is_intact(opened.get(key_of(1)), 1)


def test_the_log_never_holds_what_users_wrote(opened, monkeypatch, caplog):
    monkeypatch.setattr("os.replace", refuse_write)
    opened.put(key_of(1), KIND, {}, {"text": "a secret"}, {"text": "a secret"})
    assert caplog.records
    assert "secret" not in caplog.text
    assert str(opened.root) not in caplog.text
