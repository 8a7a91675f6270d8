"""The averages of all sequences as a table, and the feature vectors as a CSV file in a link."""

import base64
import csv
import io

import numpy as np

from backends.methods.mcbif_batch import McbifBatchResult
from views.contract import Look
from views.partitions.markup import number, sentence, table, text
from views.tools.mcbif_batch.look import counted

MOST_ROWS = 100
# A link holds the file, so a larger one would make the page slow.
MOST_NUMBERS = 200_000
# A spreadsheet reads a cell that begins with one of these as a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
AVERAGES = ("c0_bar", "c1_bar", "c0_bar_scale_weighted", "c1_bar_scale_weighted")
HEADER = ["sequence", "group", "N", "c̄₀", "c̄₁", "c̄₀ by scale", "c̄₁ by scale"]


def features_html(result: McbifBatchResult, look: Look) -> str:
    """Return the table of averages, a link to the features, and notes on the files."""
    rows = [
        [
            text(result.names[i], 60),
            text(result.groups[i], 60),
            f"{result.n_elements[i]:,}",
            *(number(float(getattr(result, name)[i]), 4) for name in AVERAGES),
        ]
        for i in range(min(result.n, MOST_ROWS))
    ]
    cut = f"; the first {MOST_ROWS} are listed" if result.n > MOST_ROWS else ""
    listed = table(HEADER, rows, {2, 3, 4, 5, 6}, counted(result) + cut)
    notes = "".join(sentence(text(note, 400)) for note in result.notes)
    return f"<div class='gw-details'>{_download(result)}{notes}{listed}</div>"


def _download(result: McbifBatchResult) -> str:
    if result.features_hf0.size + result.features_hf1.size > MOST_NUMBERS:
        return sentence("The features are too many for a link; the export has them (result.npz).")
    content = base64.b64encode(features_csv(result).encode("utf-8", "replace")).decode()
    link = f"data:text/csv;charset=utf-8;base64,{content}"
    return f"<p><a download='features.csv' href='{link}'>Download features as CSV</a></p>"


def features_csv(result: McbifBatchResult) -> str:
    """Return one row for each sequence: averages, then HF_0 and HF_1 by window (scales from 1)."""
    scales = len(result.scale_names)
    windows = [
        f"{name}_{s + 1}_{t + 1}"
        for name, beside in (("hf0", 0), ("hf1", 1))
        for s, t in zip(*np.triu_indices(scales, beside), strict=True)
    ]
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["sequence", "group", "n", *AVERAGES, *windows])
    for i in range(result.n):
        averages = [f"{getattr(result, name)[i]:.6g}" for name in AVERAGES]
        names = [_guarded(result.names[i]), _guarded(result.groups[i])]
        features = np.r_[result.features_hf0[i], result.features_hf1[i]].tolist()
        writer.writerow([*names, int(result.n_elements[i]), *averages, *features])
    return file.getvalue()


def _guarded(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell
