"""Text to token ids and back to what a token really is: bytes.

A token of a byte-level vocabulary need not be a whole character. Decoding it alone would show a
replacement sign, and its vocabulary entry shows stand-ins for bytes. Both hide the truth, so tokens
are shown from their bytes: text where they are text, `⟨F0 9F⟩` where they are part of a character.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from backends.errors import BadRequest

_PLACE = "\ue000"


@dataclass(frozen=True)
class Encoded:
    """A prompt as token ids. `spans` are character ranges of the prompt, (0, 0) for what the
    tokenizer or the chat template added."""

    ids: list[int]
    spans: list[tuple[int, int]]

    def last(self) -> int:
        """Return the position of the last token that belongs to the prompt's own text."""
        own = [i for i, (start, end) in enumerate(self.spans) if end > start]
        return own[-1]

    def covering(self, start: int, end: int) -> list[int]:
        """Return the positions of the tokens that overlap characters start..end."""
        return [i for i, (s, e) in enumerate(self.spans) if s < end and e > start and e > s]


def encode(tokenizer: Any, text: str, bos: str = "auto", chat: bool = False) -> Encoded:
    """Tokenize one prompt.

    `bos`: `auto` does what the tokenizer does, `force` puts one first if none is there, `none`
    adds no special tokens. `chat` wraps the text as one user message, ready for the answer, and
    leaves special tokens to the template. Raise `BadRequest` where the tokenizer cannot do it.
    """
    whole, begin = _in_chat(tokenizer, text) if chat else (text, 0)
    special = bos != "none" and not chat
    out = tokenizer(
        whole,
        add_special_tokens=special,
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
    )
    ids, spans = list(out["input_ids"]), _spans(out["offset_mapping"], out["special_tokens_mask"])
    if bos == "force" and (not ids or ids[0] != tokenizer.bos_token_id):
        if tokenizer.bos_token_id is None:
            raise BadRequest("bos", "This model's tokenizer has no BOS token; use auto or none.")
        ids, spans = [tokenizer.bos_token_id, *ids], [(0, 0), *spans]
    return Encoded(ids, [_shifted(span, begin, len(text)) for span in spans])


def _in_chat(tokenizer: Any, text: str) -> tuple[str, int]:
    """Return the text in the chat template, and where it begins there."""
    if not tokenizer.chat_template:
        raise BadRequest("chat", "This model has no chat template.")

    def fill(content: str) -> str:
        message = [{"role": "user", "content": content}]
        filled = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
        return str(filled)

    # The text itself may also stand in the template ("user"), so a sign marks the place.
    whole, begin = fill(text), fill(_PLACE).find(_PLACE)
    if begin < 0 or not whole.startswith(text, begin):
        raise BadRequest("chat", "The chat template of this model changes the prompt's text.")
    return whole, begin


def _spans(offsets: Sequence[Sequence[int]], added: Sequence[int]) -> list[tuple[int, int]]:
    """Return offsets as spans; white space that a tokenizer trimmed off a token comes back."""
    spans: list[tuple[int, int]] = []
    reached = 0
    for (start, end), is_added in zip(offsets, added, strict=True):
        spans.append((min(start, reached) if start == end and not is_added else start, end))
        reached = max(reached, end)
    return spans


def _shifted(span: tuple[int, int], begin: int, length: int) -> tuple[int, int]:
    start, end = max(span[0] - begin, 0), min(span[1] - begin, length)
    return (start, end) if end > start else (0, 0)


def show_tokens(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """Return each token as readable text; bytes that are no whole character as `⟨F0 9F⟩`."""
    return [show_bytes(piece) for piece in token_bytes(tokenizer, ids)]


def token_bytes(tokenizer: Any, ids: Sequence[int]) -> list[bytes]:
    """Return the UTF-8 bytes of each token; joined, they are the bytes of the text.

    Knows byte-level vocabularies (GPT-2, Llama 3, Qwen, SmolLM), SentencePiece with byte fallback
    (Llama 2, Gemma) and WordPiece (BERT). Special tokens are their own names, as are tokens added
    to a byte-level vocabulary.
    """
    kind = _kind(tokenizer)
    special = set(tokenizer.all_special_ids)
    if kind == "byte":
        special |= set(tokenizer.added_tokens_decoder)
    names = tokenizer.convert_ids_to_tokens(list(ids))
    return [
        (name or "").encode() if i in special else _to_bytes(name or "", kind)
        for i, name in zip(ids, names, strict=True)
    ]


def _kind(tokenizer: Any) -> str:
    decoder = tokenizer.backend_tokenizer.decoder
    description = "" if decoder is None else json.dumps(json.loads(decoder.__getstate__()))
    for kind, sign in (("byte", "ByteLevel"), ("word", "WordPiece")):
        if sign in description:
            return kind
    return "piece"


def _to_bytes(name: str, kind: str) -> bytes:
    if kind == "byte":
        table = _byte_of_stand_in()
        if all(c in table for c in name):
            return bytes(table[c] for c in name)
        return name.encode()
    if kind == "word":
        return (name[2:] if name.startswith("##") else f" {name}").encode()
    if byte := re.fullmatch(r"<0x([0-9A-F]{2})>", name):
        return bytes.fromhex(byte[1])
    return name.replace("\u2581", " ").encode()


@cache
def _byte_of_stand_in() -> dict[str, int]:
    """Map the stand-in characters of byte-level vocabularies to the bytes that they stand for.

    Printable Latin-1 stands for itself; every other byte, in order, for the code points from 256.
    """
    own = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [b for b in range(256) if b not in own]
    return {chr(b): b for b in own} | {chr(256 + i): b for i, b in enumerate(rest)}


def show_bytes(piece: bytes) -> str:
    """Return bytes as text, runs of invalid bytes in one pair of angle brackets."""
    return re.sub("[\udc80-\udcff]+", _bracketed, piece.decode("utf-8", "surrogateescape"))


def _bracketed(run: re.Match[str]) -> str:
    return f"\u27e8{run[0].encode('utf-8', 'surrogateescape').hex(' ').upper()}\u27e9"
