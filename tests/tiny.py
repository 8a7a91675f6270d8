"""A real, tiny language model for tests: a two-layer Llama with random weights, and its tokenizer.

The tokenizer is a byte-level BPE trained on a few sentences, so it splits emoji and unknown
scripts into bytes, as the tokenizers of large models do. Booting from a folder works offline.
"""

from pathlib import Path
from typing import Any

SENTENCES = (
    "The patient complains of chest pain and takes aspirin every day.",
    "The patient was diagnosed with heart failure; the doctor gave a drug.",
    "The male patient is 17 years old, the female patient is 18 years old.",
)
LAYERS = 2
D_MODEL = 32


def build(folder: Path, layers: int = LAYERS, seed: int = 0, family: str = "llama") -> Path:
    """Write a model into a folder and return it; `family` is llama, gpt2 or gpt_neox."""
    import torch
    from transformers import AutoModelForCausalLM

    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(_config(family, layers, len(tokenizer)))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _config(family: str, layers: int, vocab: int) -> Any:
    from transformers import GPT2Config, GPTNeoXConfig, LlamaConfig

    ends = {"vocab_size": vocab, "bos_token_id": 0, "eos_token_id": 1}
    if family == "gpt2":
        return GPT2Config(n_embd=D_MODEL, n_layer=layers, n_head=4, n_positions=128, **ends)
    common = {
        "hidden_size": D_MODEL,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "max_position_embeddings": 128,
        **ends,
    }
    if family == "gpt_neox":
        return GPTNeoXConfig(**common)
    return LlamaConfig(num_key_value_heads=2, **common)


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.post_processor = processors.ByteLevel(trim_offsets=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        SENTENCES,
        trainers.BpeTrainer(
            vocab_size=400, initial_alphabet=alphabet, special_tokens=["<s>", "</s>"]
        ),
    )
    return PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="</s>")
