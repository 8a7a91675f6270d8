"""Tokens are shown as what they are: bytes, whatever the tokenizer calls them."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from backends.errors import BadRequest
from backends.models.tokens import Encoded, encode, show_bytes, show_tokens, token_bytes

TEXTS = (
    "The patient complains of chest pain",
    "🙂 a face, 👩🏽‍⚕️ a doctor, 🇫🇷 a flag",
    "患者は胸の痛みを訴えています",
    "يشكو المريض من ألم في الصدر",
    "<b>bold</b> &amp; <script>alert(1)</script>",
    "a\tb\nc\r\nd  e ",
    " leading and trailing ",
    "naïve café, Ġgantija and ⟩⟨",
)
PLAIN = "Grüße an die Ärztin: 3 mg, 5 µg (à jeun)"


@pytest.fixture(scope="module")
def byte_level(model_folders: Path) -> Any:
    """The tiny model's tokenizer: byte-level BPE, as GPT-2, Llama 3 and SmolLM2 have."""
    return AutoTokenizer.from_pretrained(model_folders / "tiny", local_files_only=True)


@pytest.fixture(scope="module")
def sentence_piece() -> Any:
    """A Unigram vocabulary with byte fallback and a BOS, as Llama 2 has."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    words = ["▁The", "▁patient", "▁pa", "in", "▁", *"abcdefghijklmnopqrstuvwxyzT.,"]
    made = Tokenizer(
        models.Unigram(
            [(piece, 0.0) for piece in pieces]
            + [(word, -len(words) / len(word)) for word in words],
            unk_id=0,
            byte_fallback=True,
        )
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


@pytest.fixture(scope="module")
def word_piece() -> Any:
    """A WordPiece vocabulary without a BOS, as BERT has."""
    words = ["[UNK]", "[CLS]", "[SEP]", "the", "patient", "com", "##plain", "##s", "of", "pain"]
    made = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


@pytest.mark.parametrize("text", TEXTS)
def test_bytes_of_the_tokens_are_those_of_the_text(byte_level: Any, text: str) -> None:
    assert b"".join(token_bytes(byte_level, encode(byte_level, text).ids)) == text.encode()


@given(text=st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_comes_back_from_its_bytes(byte_level: Any, text: str) -> None:
    assert b"".join(token_bytes(byte_level, encode(byte_level, text).ids)) == text.encode()


@given(text=st.text(st.sampled_from("<s>/ ab🙂é\n"), max_size=20))
@settings(max_examples=100, deadline=None)
def test_names_of_special_tokens_inside_a_text_come_back(byte_level: Any, text: str) -> None:
    assert b"".join(token_bytes(byte_level, encode(byte_level, text).ids)) == text.encode()


@pytest.mark.parametrize("text", [t for t in TEXTS if "Ġ" not in t])
def test_no_stand_in_and_no_replacement_sign_is_shown(byte_level: Any, text: str) -> None:
    shown = "".join(show_tokens(byte_level, encode(byte_level, text).ids))
    assert not {"\ufffd", "Ġ", "Ċ", "ð", "▁"} & set(shown)


def test_a_split_emoji_is_shown_as_bytes(byte_level: Any) -> None:
    ids = encode(byte_level, "🙂").ids
    shown = show_tokens(byte_level, ids)
    assert len(ids) > 1
    assert all(re.fullmatch("⟨[0-9A-F]{2}( [0-9A-F]{2})*⟩", piece) for piece in shown)
    hexadecimal = " ".join(piece.strip("⟨⟩") for piece in shown)
    assert bytes.fromhex(hexadecimal) == "🙂".encode()


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        (b"pain", "pain"),
        ("é".encode(), "é"),
        (b"\xf0\x9f", "⟨F0 9F⟩"),
        (b"\xff\xfe\xff", "⟨FF FE FF⟩"),
        (b"a\xf0\x9fb\x80", "a⟨F0 9F⟩b⟨80⟩"),
        (b"\xed\xa0\x80", "⟨ED A0 80⟩"),
        ("⟩⟨".encode(), "⟩⟨"),
        (b"", ""),
    ],
)
def test_bytes_that_are_no_character_stand_in_brackets(piece: bytes, shown: str) -> None:
    assert show_bytes(piece) == shown


def test_letters_that_serve_as_stand_ins_are_shown_where_the_text_has_them(byte_level: Any) -> None:
    ids = encode(byte_level, "Ġgantija").ids
    assert b"".join(token_bytes(byte_level, ids)).decode() == "Ġgantija"


def test_an_added_token_is_its_own_text(model_folders: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model_folders / "tiny", local_files_only=True)
    tokenizer.add_tokens(["<é>"])
    ids = encode(tokenizer, "a<é>b").ids
    assert show_tokens(tokenizer, ids) == ["a", "<é>", "b"]


def test_spans_are_characters_of_the_text(byte_level: Any) -> None:
    text = "The patient 🙂 has pain"
    encoded = encode(byte_level, text)
    assert len(encoded.ids) == len(encoded.spans)
    covered = sorted({i for start, end in encoded.spans for i in range(start, end)})
    assert {text[i] for i in range(len(text)) if i not in covered} <= {" "}
    shown = show_tokens(byte_level, encoded.ids)
    for piece, (start, end) in zip(shown, encoded.spans, strict=True):
        assert end > start
        assert text[start:end].strip() == piece.strip() or text[start:end] == "🙂"


def test_positions_of_an_entity(byte_level: Any) -> None:
    text = "The patient takes xylometazoline"
    encoded = encode(byte_level, text)
    shown = show_tokens(byte_level, encoded.ids)
    chosen = encoded.covering(text.index("xylo"), len(text))
    assert len(chosen) > 1
    assert "".join(shown[i] for i in chosen).strip() == "xylometazoline"
    assert chosen == list(range(chosen[0], len(encoded.ids)))
    assert encoded.last() == len(encoded.ids) - 1


def test_a_space_at_the_end_is_the_last_token(byte_level: Any) -> None:
    encoded = encode(byte_level, "The answer is ")
    assert show_tokens(byte_level, encoded.ids)[encoded.last()] == " "


def test_last_and_covering_pass_over_what_was_added() -> None:
    encoded = Encoded([0, 5, 6, 1], [(0, 0), (0, 3), (3, 7), (0, 0)])
    assert encoded.last() == 2
    assert encoded.covering(0, 7) == [1, 2]
    assert encoded.covering(2, 3) == [1]
    assert encoded.covering(7, 9) == []


def test_bos_of_a_tokenizer_that_adds_none(byte_level: Any) -> None:
    plain = encode(byte_level, "pain").ids
    forced = encode(byte_level, "pain", "force")
    assert encode(byte_level, "pain", "none").ids == plain
    assert forced.ids == [byte_level.bos_token_id, *plain]
    assert forced.spans[0] == (0, 0)
    assert show_tokens(byte_level, forced.ids)[0] == "<s>"


def test_bos_of_a_tokenizer_that_adds_one(sentence_piece: Any) -> None:
    plain = encode(sentence_piece, "pain", "none").ids
    assert encode(sentence_piece, "pain").ids == [1, *plain]
    assert encode(sentence_piece, "pain", "force").ids == [1, *plain]


def test_bos_cannot_be_forced_where_there_is_none(word_piece: Any) -> None:
    with pytest.raises(BadRequest, match="no BOS token; use auto or none") as error:
        encode(word_piece, "pain", "force")
    assert error.value.field == "bos"


def test_chat_needs_a_template(byte_level: Any) -> None:
    with pytest.raises(BadRequest, match="no chat template") as error:
        encode(byte_level, "pain", chat=True)
    assert error.value.field == "chat"


TEMPLATE = (
    "system: You answer the user.\n"
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def with_template(model_folders: Path, template: str) -> Any:
    """Return the tiny tokenizer with a chat template."""
    tokenizer = AutoTokenizer.from_pretrained(model_folders / "tiny", local_files_only=True)
    tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize("text", ["The patient has pain", "user", "You", " a "])
def test_spans_in_a_chat_are_those_of_the_own_text(model_folders: Path, text: str) -> None:
    tokenizer = with_template(model_folders, TEMPLATE)
    encoded = encode(tokenizer, text, chat=True)
    before = len(tokenizer("system: You answer the user.\nuser:")["input_ids"])
    shown = show_tokens(tokenizer, encoded.ids)
    assert "".join(shown) == f"system: You answer the user.\nuser: {text}\nassistant: "
    own = encoded.covering(0, len(text))
    assert min(own) >= before
    assert "".join(shown[i] for i in own).strip() == text.strip()


def test_a_template_that_changes_the_text_is_refused(model_folders: Path) -> None:
    tokenizer = with_template(model_folders, "{{ messages[0].content | upper }}")
    with pytest.raises(BadRequest, match="changes the prompt's text"):
        encode(tokenizer, "pain", chat=True)


def test_sentence_piece_with_byte_fallback(sentence_piece: Any) -> None:
    text = "The patient 🙂 in pain"
    ids = encode(sentence_piece, text).ids
    shown = show_tokens(sentence_piece, ids)
    assert shown[:3] == ["<s>", " The", " patient"]
    assert {"⟨F0⟩", "⟨9F⟩", "⟨99⟩", "⟨82⟩"} <= set(shown)
    assert b"".join(token_bytes(sentence_piece, ids[1:])) == f" {text}".encode()
    assert not {"\ufffd", "▁"} & set("".join(shown))


@pytest.mark.parametrize("text", [PLAIN, "naïve 東京", "a▁b"])
def test_sentence_piece_bytes_are_those_of_the_text(sentence_piece: Any, text: str) -> None:
    ids = encode(sentence_piece, text, "none").ids
    joined = b"".join(token_bytes(sentence_piece, ids))
    assert joined.decode() == f" {text}".replace("▁", " ")


def test_word_piece(word_piece: Any) -> None:
    encoded = encode(word_piece, "The patient complains")
    assert show_tokens(word_piece, encoded.ids) == [
        "[CLS]",
        " the",
        " patient",
        " com",
        "plain",
        "s",
        "[SEP]",
    ]
    assert encoded.spans == [(0, 0), (0, 3), (4, 11), (12, 15), (15, 20), (20, 21), (0, 0)]
    assert encoded.last() == 5
