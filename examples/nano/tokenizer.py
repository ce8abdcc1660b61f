"""Nano's tokenizer: byte-level BPE in which a value is the same tokens in the document and in the answer.

Digits stand alone, spaces and punctuation never merge with words, runs of spaces (column gaps) are one token. JSON's
structure has tokens of its own. The special tokens carry Gemma 4's names and roles.

`python tokenizer.py` trains it on generated prompts and writes runs/tokenizer.json.
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from generator import RUNS, make_example
from pools import Pools, load_pools
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

PAD, EOS, BOS = 0, 1, 2
SPECIAL_TOKENS = (
    *("<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|think|>"),
    *("<|image>", "<|image|>", "<image|>", "<|audio>", "<|audio|>", "<audio|>", "<|video|>"),
    *("<|tool>", "<tool|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>", '<|"|>'),
)
JSON_TOKENS = (
    *('{"', '":"', '","', '"}', '":null,"', '":null}', '":true', '":false', '":true,"', '":false,"'),
    *(
        '":{"',
        '"},"',
        '"}}',
        '":[{"',
        '"},{"',
        '":null},{"',
        '"}]',
        '":null}]',
        '"}],"',
        '"}]}',
        '":[]',
        '":[],"',
        '":[]}',
    ),
)
TURN_END = SPECIAL_TOKENS.index("<turn|>")
_PIECES = r"\p{N}|\p{Lu}?\p{Ll}+|\p{Lu}+|\p{L}+| {2,}| |\n|[^\p{L}\p{N} \n]"


def corpus(pools: Pools, count: int, seed: int) -> Iterator[str]:
    """Prompts of generated examples, most of them of full documents."""
    rng = random.Random(seed)
    for _ in range(count):
        yield make_example(rng, pools, rng.choice((1, 2, 2))).prompt


def train_tokenizer(texts: Iterator[str], vocab_size: int) -> Tokenizer:
    """A tokenizer with `vocab_size` tokens, special and JSON tokens included."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(JSON_TOKENS),
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in JSON_TOKENS])
    return tokenizer


def main() -> None:
    """Train and save the tokenizer."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--vocab-size", type=int, default=2048)
    parser.add_argument("--documents", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=99)
    parser.add_argument("--runs", type=Path, default=RUNS, help="folder of pools and tokenizer")
    options = parser.parse_args()
    pools = load_pools(options.runs / "pools.json")
    tokenizer = train_tokenizer(corpus(pools, options.documents, options.seed), options.vocab_size)
    out = options.runs / "tokenizer.json"
    tokenizer.save(str(out))
    print(f"{tokenizer.get_vocab_size()} tokens in {out}")


if __name__ == "__main__":
    main()
