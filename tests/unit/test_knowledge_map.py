"""The knowledge map on the tiny model: every promised array, what it equals, what it refuses."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from app.engine import Engine
from app.settings import Settings
from backends.accept import accept, request_key
from backends.codec import array_fields, pack
from backends.concepts.medical import LABELS, Domain, concept_set, rows
from backends.concepts.request import Token
from backends.errors import BadRequest
from backends.jobs.apart import Apart
from backends.jobs.base import Stored
from backends.lab import Lab
from backends.math.geometry import Normalization, normalize
from backends.methods.knowledge_map import METHOD, KnowledgeMapResult
from backends.watch import Progress, Watch
from cache import Store
from launch import build

DOMAINS: tuple[Domain, ...] = get_args(Domain)
ON_LINE = ("r2_pc1", "r2_cv", "anisotropy", "step_size")
OF_STAGES = ("stage_distance", "csfs", "csls", "loop_ratio", "closure", "spearman")
WORDS = (
    *("aspirin", "heart", "pain", "chest", "doctor", "drug", "patient", "failure", "female"),
    *("male", "years", "old", "day", "gave", "takes", "every", "diagnosed", "complains", "was"),
    *("with", "and", "the", "of", "an", "is"),
)

Run = Callable[..., Stored]


def engine_at(home: Path, model_folders: Path) -> Engine:
    """Build an engine with a home of its own."""
    return build(Settings(home, model_folders, 10**9, 10**9, 1, "cpu"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, model_folders: Path) -> Iterator[Engine]:
    """One engine for this module: what is computed once is recalled."""
    made = engine_at(tmp_path_factory.mktemp("home"), model_folders)
    yield made
    made.runner.close()


@pytest.fixture(scope="module")
def run(shared: Engine, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Compute a map on the tiny model with PCA; `table` is the text of a table."""
    folder = tmp_path_factory.mktemp("tables")

    def computed(table: str | None = None, engine: Engine = shared, **fields: Any) -> Stored:
        raw = {"model": "tiny", "projection": "pca"} | fields
        if table is not None:
            (folder / "table.csv").write_text(table)
            raw["table"] = engine.known.uploads.add(folder / "table.csv")
        return engine.runner.submit(METHOD, accept(METHOD, raw, engine.known)).result()

    return computed


def labeled(n: int = 24, classes: int = 2, *, value: bool = False, stages: int = 0) -> str:
    """Return a table of n prompts with a label, and with values or stages if asked for."""
    lines = ["prompt,kind" + (",value" if value or stages else "") + (",group" if stages else "")]
    for i in range(n):
        cells = [f"The {WORDS[i % 25]} {WORDS[i // 25]} {WORDS[i * 7 % 25]}", f"k{i % classes}"]
        cells += [str(i % stages if stages else i)] if value or stages else []
        cells += [f"g{i // stages}"] if stages else []
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def without(text: str, column: str) -> str:
    """Return a table without one column."""
    cells = [line.split(",") for line in text.splitlines()]
    place = cells[0].index(column)
    return "\n".join(",".join(c for i, c in enumerate(row) if i != place) for row in cells) + "\n"


def sizes(result: KnowledgeMapResult) -> dict[str, int]:
    """Return the length that each axis of a result must have."""
    n, layers = len(result.prompts), len(result.layers)
    return {
        "layer": layers,
        "sample": n,
        "column": len(result.label_columns),
        "component": min(30, n - 1),
        "neighbor": min(10, n - 1),
        "2": 2,
        "variant": len(result.variants),
        "step": n - 1,
        "disease": len(result.diseases),
        "stage": max((len(names) for names in result.stages), default=0),
    }


def check_shapes(result: KnowledgeMapResult) -> None:
    """Assert that every array has the axes that its declaration promises."""
    length = sizes(result)
    for name, axes in array_fields(KnowledgeMapResult).items():
        array = getattr(result, name)
        if array is not None:
            assert array.shape == tuple(length[axis] for axis in axes), name
            assert array.dtype == (np.float32 if array.dtype.kind == "f" else array.dtype)


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_domain_gives_every_array_it_promises(run: Run, domain: Domain) -> None:
    result = run(domain=domain).result
    assert isinstance(result, KnowledgeMapResult)
    assert result.n == len(rows(domain)) == len(result.prompts)
    assert result.layers == [0, 1]
    assert result.label_columns == list(LABELS[domain])
    check_shapes(result)
    absent = {name for name in array_fields(KnowledgeMapResult) if getattr(result, name) is None}
    expected = set(ON_LINE if domain != "age" else ()) | set(
        OF_STAGES if domain != "progression" else ()
    )
    assert absent == expected
    assert (result.values is not None) == (domain in ("age", "progression"))
    assert (result.disease_of is not None) == (domain == "progression")


@pytest.mark.parametrize("domain", DOMAINS)
def test_numbers_that_are_defined_are_finite_and_in_range(run: Run, domain: Domain) -> None:
    result = run(domain=domain).result
    arrays, values = pack(result)
    for name, array in arrays.items():
        if name != "stage_distance":
            assert np.isfinite(array).all(), name
    between = {
        (-1, 1): ("silhouette", "silhouette_null", "silhouette_cosine", "token_overlap", "spearman",
                  "mean_cosine", "silhouette_null_max", "neighbor_cosine"),
        (0, 1): ("probe_accuracy", "probe_low", "probe_high", "probe_null", "top3_share",
                 "token_count_correlation", "r2_pc1", "anisotropy", "loop_ratio"),
        (0, 1.001): ("closure",),
        (1, 32): ("participation_ratio", "participation_ratio_rest"),
    }  # fmt: skip
    for (low, high), names in between.items():
        for name in set(names) & set(arrays):
            assert arrays[name].min() >= low, name
            assert arrays[name].max() <= high + 1e-6, name
    for name in ("silhouette", "probe"):
        middle = arrays["probe_accuracy" if name == "probe" else name]
        assert (arrays[f"{name}_low"] <= middle).all()
        assert (middle <= arrays[f"{name}_high"]).all()
    assert not arrays["difference"][0].any()
    # Where no prompt is dropped, the paired difference is the difference of the scores.
    full = [c for c, column in enumerate(result.label_columns) if not result.dropped[column]]
    if 0 in full:
        expected = arrays["silhouette"][:1] - arrays["silhouette"][full]
        assert np.allclose(arrays["difference"][full], expected, atol=1e-6)
    assert (arrays["silhouette_null_max"][:, None] >= arrays["silhouette_null"]).all()
    assert values["dimensions_dropped"] == [0, 0]


@pytest.mark.parametrize("domain", DOMAINS)
def test_labels_are_class_numbers_and_small_classes_are_dropped(run: Run, domain: Domain) -> None:
    result = run(domain=domain).result
    for c, column in enumerate(result.label_columns):
        cells = [row[column] for row in rows(domain)]
        counts = Counter(cells)
        assert result.classes[c] == sorted(name for name in counts if counts[name] >= 3)
        for cell, number in zip(cells, result.labels[c], strict=True):
            assert number == (result.classes[c].index(cell) if counts[cell] >= 3 else -1)
        assert result.dropped[column] == int((result.labels[c] == -1).sum())
    if domain == "drug":
        assert result.dropped["mechanism_class"] == 1


@pytest.mark.parametrize("domain", DOMAINS)
def test_silhouettes_are_those_of_the_stored_space(run: Run, domain: Domain) -> None:
    result = run(domain=domain).result
    for c in range(len(result.label_columns)):
        kept = result.labels[c] >= 0
        for layer, space in enumerate(result.metric_space):
            expected = silhouette_score(space[kept].astype(np.float64), result.labels[c][kept])
            assert result.silhouette[c, layer] == pytest.approx(expected, abs=1e-6)


def captured(engine: Engine, prompts: list[str], where: Callable[[Any], list[int]]) -> np.ndarray:
    """Return X [layer, sample, d_model]: the mean row at the positions that `where` gives."""
    models = engine.runner.models(Watch())
    ref = engine.known.catalog.ref("tiny", "float32")
    encoded = models.encode(ref, prompts)
    hooks = ["blocks.0.hook_resid_post", "blocks.1.hook_resid_post"]
    at = [where(one) for one in encoded]
    found = models.capture(ref, [one.ids for one in encoded], hooks, at)
    return np.stack([np.stack([part.mean(axis=0) for part in found[hook]]) for hook in hooks])


def test_raw_measures_are_those_of_the_activations(run: Run, shared: Engine) -> None:
    result = run(domain="symptom").result
    points = captured(shared, result.prompts, lambda one: [len(one.ids) - 1]).astype(np.float64)
    norms = np.linalg.norm(points, axis=2)
    assert np.allclose(result.norm, norms, rtol=1e-6)
    assert np.allclose(result.median_norm, np.median(norms, axis=1), rtol=1e-6)
    for layer in range(2):
        expected = silhouette_score(points[layer], result.labels[0], metric="cosine")
        assert result.silhouette_cosine[0, layer] == pytest.approx(expected, abs=1e-6)
        moved = points[layer] - points[layer].mean(axis=0)
        spread = np.linalg.eigvalsh(np.cov(moved.T))
        ratio = spread.sum() ** 2 / (spread**2).sum()
        assert result.participation_ratio[layer] == pytest.approx(ratio, rel=1e-5)
        inner = moved @ moved.T
        space = result.metric_space[layer].astype(np.float64)
        assert np.allclose(space @ space.T, inner, atol=0.02 * np.abs(inner).max())
        left, scale, _ = np.linalg.svd(moved, full_matrices=False)
        flat = result.map_pca[layer].astype(np.float64)
        assert np.allclose(
            flat @ flat.T, (left * scale)[:, :2] @ (left * scale)[:, :2].T, atol=1e-4
        )


@pytest.mark.parametrize("how", ["none", "zscore"])
def test_neighbors_are_the_nearest_by_cosine_of_the_normalized_activations(
    run: Run, shared: Engine, how: str
) -> None:
    result = run(domain="symptom", normalization=how).result
    points = captured(shared, result.prompts, lambda one: [len(one.ids) - 1])
    for layer, raw in enumerate(points):
        x = normalize(raw, how)[0].astype(np.float64)
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        cosines = unit @ unit.T
        np.fill_diagonal(cosines, -np.inf)
        best = -np.sort(-cosines, axis=1)[:, :10]
        assert np.allclose(result.neighbor_cosine[layer], best, atol=1e-5)
        found = np.take_along_axis(cosines, result.neighbors[layer], axis=1)
        assert np.allclose(found, best, atol=1e-5)
        assert all(len(set(row)) == 10 for row in result.neighbors[layer].tolist())


def test_with_pca_the_map_is_the_pca(run: Run) -> None:
    stored = run(domain="symptom")
    assert stored.result.projection == stored.provenance["projection"] == "pca"
    assert np.allclose(stored.result.map, stored.result.map_pca, atol=1e-6)


def test_pictures_are_centered_and_turned_towards_the_one_before(run: Run) -> None:
    pictures = run(domain="symptom").result.map.astype(np.float64)
    assert np.allclose(pictures.mean(axis=1), 0, atol=1e-5)
    here = (pictures[0] * pictures[1]).sum()
    for flip in ([-1, 1], [1, -1], [-1, -1]):
        assert here >= (pictures[0] * pictures[1] * flip).sum()


def test_tokens_are_those_of_the_prompts(run: Run) -> None:
    result = run(domain="symptom").result
    assert ["".join(pieces) for pieces in result.tokens] == result.prompts
    assert result.entities == [row["symptom"] for row in rows("symptom")]


def test_ages_have_five_wordings_and_their_steps(run: Run, shared: Engine) -> None:
    result = run(domain="age").result
    assert result.variants == [
        "prompt", "prompt_male", "prompt_female", "prompt_words", "prompt_control"
    ]  # fmt: skip
    assert result.values == list(range(101))
    assert result.step_size is not None
    assert result.step_size.shape == (5, 2, 100)
    prompts = [row["prompt_female"] for row in rows("age")]
    points = captured(shared, prompts, lambda one: [len(one.ids) - 1]).astype(np.float64)
    steps = np.linalg.norm(np.diff(points, axis=1), axis=2)
    expected = steps / np.median(steps, axis=1, keepdims=True)
    assert np.allclose(result.step_size[2], expected, rtol=1e-5)
    assert np.allclose(np.median(result.step_size, axis=2), 1, atol=1e-5)


def test_template_b_of_ages_has_one_wording(run: Run) -> None:
    result = run(domain="age", template="B").result
    assert result.variants == ["prompt"]
    assert result.step_size is not None
    assert result.step_size.shape == (1, 2, 100)
    assert result.prompts[3] == "Age of the patient in years: 3"


def test_progressions_have_stages(run: Run, shared: Engine) -> None:
    result = run(domain="progression").result
    assert result.diseases == list(dict.fromkeys(row["disease"] for row in rows("progression")))
    assert result.disease_of == [result.diseases.index(r["disease"]) for r in rows("progression")]
    assert [name for names in result.stages for name in names] == [
        row["stage_label"] for row in rows("progression")
    ]
    points = captured(shared, result.prompts, lambda one: [len(one.ids) - 1]).astype(np.float64)
    for d, names in enumerate(result.stages):
        own = points[:, np.array(result.disease_of) == d]
        between = np.linalg.norm(own[:, :, None] - own[:, None], axis=3)
        k = len(names)
        assert np.allclose(result.stage_distance[d, :, :k, :k], between, atol=1e-5)
        assert np.isnan(result.stage_distance[d, :, k:]).all()
        assert np.isnan(result.stage_distance[d, :, :, k:]).all()
        for layer in range(2):
            assert result.csfs[d, layer] == 1 + between[layer, 0, 1:].argmin()
            assert result.csls[d, layer] == between[layer, -1, :-1].argmin()
            loop = between[layer, 0, -1] / between[layer, 0].max()
            assert result.loop_ratio[d, layer] == pytest.approx(loop, rel=1e-5)
            way = np.diagonal(between[layer], 1).sum()
            assert result.closure[d, layer] == pytest.approx(between[layer, 0, -1] / way, rel=1e-5)


def test_template_b_words_the_prompts_otherwise(run: Run) -> None:
    for domain in ("symptom", "progression"):
        result = run(domain=domain, template="B").result
        assert result.prompts == concept_set(domain, "B").prompts
        assert not np.array_equal(result.norm, run(domain=domain).result.norm)
        check_shapes(result)


def test_one_layer_has_the_numbers_it_has_among_all(run: Run) -> None:
    both, one = run(domain="symptom").result, run(domain="symptom", layers="1").result
    assert one.layers == [1]
    check_shapes(one)
    for name, axes in array_fields(KnowledgeMapResult).items():
        array = getattr(both, name)
        # A picture is turned towards the layer before it; the null's maximum is over the layers.
        if array is None or name in ("map", "map_pca", "silhouette_null_max"):
            continue
        mine = np.take(array, [1], axis=axes.index("layer")) if "layer" in axes else array
        if name == "token_count_correlation":
            assert getattr(one, name) == pytest.approx(mine, abs=1e-5)
        else:
            assert np.array_equal(getattr(one, name), mine), name


def test_a_label_column_named_first_comes_first(run: Run) -> None:
    first = run(domain="drug").result
    other = run(domain="drug", labels="mechanism_class").result
    assert other.label_columns == ["mechanism_class", "specialty", "atc_level1"]
    assert np.array_equal(other.silhouette[0], first.silhouette[1])
    assert np.array_equal(other.difference[1], -first.difference[1])


def test_normalizations(run: Run) -> None:
    found = {
        how: run(domain="symptom", normalization=how).result for how in get_args(Normalization)
    }
    for how, result in found.items():
        assert result.normalization == how
        check_shapes(result)
        for name in ("norm", "participation_ratio", "mean_cosine", "median_norm", "top3_share"):
            assert np.array_equal(getattr(result, name), getattr(found["none"], name))
    spaces = {how: result.metric_space for how, result in found.items()}
    assert not np.array_equal(spaces["unit"], spaces["none"])
    assert not np.array_equal(spaces["zscore"], spaces["none"])
    assert np.linalg.norm(spaces["unit"], axis=2).max() <= 2
    assert (spaces["zscore"].astype(np.float64) ** 2).sum(axis=2).mean() == pytest.approx(
        32, rel=0.05
    )
    # No dimension of the tiny model is massive.
    assert found["drop_massive"].dimensions_dropped == [0, 0]
    assert np.array_equal(spaces["drop_massive"], spaces["none"])
    # A cosine does not change when points are scaled to length 1.
    cosines = [found[how].silhouette_cosine for how in ("unit", "none")]
    assert np.allclose(*cosines, atol=1e-5)


def test_tokens_to_choose_from(run: Run, shared: Engine) -> None:
    found = {t: run(domain="symptom", token=t).result for t in get_args(Token)}
    table = rows("symptom")
    prompts = found["last_prompt"].prompts
    starts = {p: p.index(row["symptom"]) for p, row in zip(prompts, table, strict=True)}
    models = shared.runner.models(Watch())
    ref = shared.known.catalog.ref("tiny", "float32")
    encoded = dict(zip(prompts, models.encode(ref, prompts), strict=True))
    entity = {p: one.covering(starts[p], len(p)) for p, one in encoded.items()}
    assert max(len(at) for at in entity.values()) > 1
    chosen = {
        "last_entity": lambda at: at[-1:],
        "mean_entity": lambda at: at,
        "first_entity": lambda at: at[:1],
    }
    for name, pick in chosen.items():
        places = iter(prompts)
        points = captured(shared, prompts, lambda one: pick(entity[next(places)]))  # noqa: B023
        norms = np.linalg.norm(points.astype(np.float64), axis=2)
        assert np.allclose(found[name].norm, norms, rtol=1e-5), name
    assert np.array_equal(found["last_entity"].norm, found["last_prompt"].norm)
    assert not np.array_equal(found["first_entity"].norm, found["last_prompt"].norm)
    assert not np.array_equal(found["mean_entity"].norm, found["last_prompt"].norm)


def test_rows_that_repeat_are_measured(run: Run) -> None:
    result = run(domain="symptom", token="first_entity").result
    assert len(np.unique(result.metric_space[0].round(4), axis=0)) < result.n
    assert all(np.isfinite(array).all() for array in pack(result)[0].values())


def test_a_table_with_values_only(run: Run) -> None:
    result = run(table=without(labeled(value=True), "kind")).result
    check_shapes(result)
    assert (result.label_columns, result.classes, result.dropped) == ([], [], {})
    assert result.labels.shape == (0, 24)
    assert result.silhouette.shape == result.probe_null.shape == (0, 2)
    assert result.variants == ["prompt"]
    for name in ON_LINE:
        assert np.isfinite(getattr(result, name)).all()
    assert all(getattr(result, name) is None for name in OF_STAGES)


def test_steps_follow_the_values_whatever_the_order_of_rows(run: Run) -> None:
    head, *lines = without(labeled(value=True), "kind").splitlines()
    shuffled = [lines[i] for i in np.random.default_rng(0).permutation(len(lines))]
    first = run(table="\n".join([head, *lines])).result
    second = run(table="\n".join([head, *shuffled])).result
    assert first.prompts != second.prompts
    assert np.allclose(first.step_size, second.step_size, rtol=1e-6)


def test_a_table_with_stages(run: Run) -> None:
    result = run(table=labeled(24, classes=3, stages=4)).result
    check_shapes(result)
    assert result.diseases == [f"g{i}" for i in range(6)]
    assert result.stages == [["0", "1", "2", "3"]] * 6
    assert result.stage_distance is not None
    assert np.isfinite(result.stage_distance).all()
    assert all(getattr(result, name) is None for name in ON_LINE)
    assert result.label_columns == ["kind"]
    alone = run(table=without(labeled(24, stages=4), "kind")).result
    check_shapes(alone)
    assert alone.label_columns == []


def test_a_table_with_labels_only(run: Run) -> None:
    result = run(table=labeled(25, classes=5)).result
    check_shapes(result)
    assert result.classes == [["k0", "k1", "k2", "k3", "k4"]]
    assert result.dropped == {"kind": 0}
    assert result.values is None
    assert result.entities == []
    assert all(getattr(result, name) is None for name in (*ON_LINE, *OF_STAGES))


def test_the_smallest_table(run: Run) -> None:
    result = run(table=labeled(6)).result
    check_shapes(result)
    assert result.metric_space.shape == (2, 6, 5)
    assert result.neighbors.shape == result.neighbor_cosine.shape == (2, 6, 5)
    assert np.isfinite(result.silhouette).all()


def test_columns_without_two_classes_are_not_scored(run: Run) -> None:
    lines = labeled(24).splitlines()
    table = "\n".join([f"{lines[0]},note"] + [f"{line},n{i}" for i, line in enumerate(lines[1:])])
    result = run(table=table).result
    assert result.label_columns == ["kind", "note"]
    assert result.classes[1] == []
    assert result.dropped["note"] == 24
    assert (result.labels[1] == -1).all()
    for name in (
        "silhouette",
        "silhouette_cosine",
        "probe_accuracy",
        "probe_null",
        "token_overlap",
    ):
        assert np.isfinite(getattr(result, name)[0]).all()
        assert np.isnan(getattr(result, name)[1]).all()


def test_random_labels_are_at_chance(run: Run) -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 8)) for _ in range(120)]
    classes = rng.permutation([f"r{i % 2}" for i in range(120)])
    lines = [f"The word {w},{w},{c}" for w, c in zip(words, classes, strict=True)]
    table = "\n".join(["prompt,entity,kind", *lines])
    result = run(table=table, token="mean_entity").result
    for name in ("probe_accuracy", "probe_null"):
        assert np.abs(getattr(result, name) - 0.5).max() < 0.15
    assert np.abs(result.silhouette).max() < 0.05
    assert np.abs(result.silhouette_z).max() < 4
    assert (result.probe_low < 0.5).all()
    assert (result.probe_high > 0.5).all()


def test_a_token_at_position_0_is_refused_unless_a_bos_stands_there(run: Run) -> None:
    table = "prompt,kind\n" + "".join(f"{chr(97 + i)},k{i % 2}\n" for i in range(12))
    with pytest.raises(BadRequest, match="'a' stands at position 0, where .* bos = force") as error:
        run(table=table)
    assert error.value.field == "token"
    result = run(table=table, bos="force").result
    assert result.tokens[0] == ["<s>", "a"]
    check_shapes(result)


def test_what_the_model_cannot_read_is_refused(run: Run) -> None:
    long = labeled(12) + f"{'x' * 300},k0\n"
    with pytest.raises(BadRequest, match=r"Text 13 has \d+ tokens; tiny reads at most 128"):
        run(table=long)
    with pytest.raises(BadRequest, match="no chat template"):
        run(domain="symptom", chat=True)


def files_of(stored: Stored) -> dict[str, bytes]:
    """Return a result's arrays as bytes."""
    return {name: array.tobytes() for name, array in pack(stored.result)[0].items()}


def test_equal_seeds_give_equal_bytes_in_another_home(
    run: Run, tmp_path: Path, model_folders: Path
) -> None:
    other = engine_at(tmp_path / "home", model_folders)
    for fields in ({"domain": "symptom"}, {"domain": "age"}, {"domain": "progression"}):
        here, there = run(**fields), run(engine=other, **fields)
        assert not there.hit
        assert there.counts["parts_computed"] == 4
        assert files_of(here) == files_of(there)
        assert pack(here.result)[1] == pack(there.result)[1]
        assert here.provenance == there.provenance
    other.runner.close()


def test_a_cache_without_room_changes_nothing(
    run: Run, tmp_path: Path, model_folders: Path
) -> None:
    tight = build(Settings(tmp_path / "home", model_folders, 0, 10**9, 1, "cpu"))
    here, there = run(domain="symptom"), run(domain="symptom", engine=tight)
    assert there.counts["parts_computed"] == 4
    assert files_of(here) == files_of(there)
    assert tight.store.usage().entries == 1
    tight.runner.close()


def test_another_seed_gives_other_draws_of_the_same_scores(run: Run) -> None:
    first, second = run(domain="symptom").result, run(domain="symptom", seed=1).result
    assert np.array_equal(first.silhouette, second.silhouette)
    assert not np.array_equal(first.silhouette_null, second.silhouette_null)
    assert not np.array_equal(first.silhouette_low, second.silhouette_low)


def test_bfloat16_weights_give_other_numbers(run: Run) -> None:
    plain, half = run(domain="symptom"), run(domain="symptom", dtype="bfloat16")
    assert half.provenance["dtype"] == "bfloat16"
    assert half.provenance["compute_dtype"] == "float32"
    assert not np.array_equal(plain.result.norm, half.result.norm)
    assert np.allclose(plain.result.norm, half.result.norm, rtol=0.02)


def test_a_preliminary_map_is_shown_once_before_the_scores(shared: Engine, tmp_path: Path) -> None:
    told: list[Progress] = []
    parts_before: list[int] = []

    def tell(progress: Progress) -> None:
        told.append(progress)
        if progress.partial is not None:
            parts_before.append(watch.counts["parts_computed"])

    watch = Watch(tell=tell)
    raw = {"model": "tiny", "domain": "age", "projection": "pca"}
    request = accept(METHOD, raw, shared.known)
    key = request_key(METHOD, request, shared.known)
    store = Store(tmp_path / "store")
    worker = Apart()
    lab = Lab(METHOD, key, store, shared.known, watch, shared.runner.models, worker,
              lambda *_: None)  # fmt: skip
    result = METHOD.compute(request, lab)
    worker.close()
    assert parts_before == [0]
    (first,) = (p.partial for p in told if p.partial is not None)
    check_shapes(first)
    assert first.projection == "pca"
    assert np.array_equal(first.map_pca, result.map_pca)
    assert np.array_equal(first.neighbors, result.neighbors)
    assert np.isnan(first.silhouette).all()
    assert np.isnan(first.r2_cv).all()
    assert first.step_size is None
    done = [(p.done, p.total) for p in told]
    assert done == sorted(done)
    (total,) = {total for _, total in done}
    assert done[0] == (0, total)
    assert done[-1] == (total, total)
    assert all(re.fullmatch(r".+", p.note) for p in told)


@pytest.mark.slow
def test_umap_end_to_end(run: Run, tmp_path: Path, model_folders: Path) -> None:
    engine = engine_at(tmp_path / "home", model_folders)
    fields = {"domain": "symptom", "projection": "umap", "engine": engine}
    stored = run(**fields)
    result = stored.result
    check_shapes(result)
    assert result.projection == stored.provenance["projection"] == "umap"
    assert not np.array_equal(result.map, result.map_pca)
    assert all(np.isfinite(array).all() for array in pack(result)[0].values())
    for layer, space in enumerate(result.metric_space):
        expected = silhouette_score(space.astype(np.float64), result.labels[0])
        assert result.silhouette[0, layer] == pytest.approx(expected, abs=1e-6)
    pca = run(domain="symptom").result
    for name in ("map_pca", "silhouette_cosine", "probe_accuracy", "participation_ratio"):
        assert np.array_equal(getattr(result, name), getattr(pca, name))

    engine.store.clear()
    again = run(**fields)
    assert not again.hit
    assert files_of(again) == files_of(stored)

    twice = run(**fields, token="first_entity").result
    points = captured(engine, twice.prompts, lambda one: [len(one.ids) - 1])
    assert points.shape[1] == twice.n
    assert len(np.unique(twice.map[0], axis=0)) == len(np.unique(twice.metric_space[0], axis=0))
    assert len(np.unique(twice.map[0], axis=0)) < twice.n

    few = run(table=labeled(6), projection="umap", engine=engine)
    assert few.result.projection == few.provenance["projection"] == "pca"
    engine.runner.close()
