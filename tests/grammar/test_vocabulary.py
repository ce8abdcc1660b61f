import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from dg_sglang.errors import CheckpointError
from dg_sglang.grammar import Vocabulary


def byte_level():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({char: i for i, char in enumerate(alphabet)} | {"Ġa": 256}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<eos>")])
    tokenizer.add_tokens(
        [AddedToken('":"', normalized=False), AddedToken("€", normalized=False), AddedToken("<unused7>")]
    )
    return tokenizer


def sentence_piece():
    tokens = ["<pad>", "<eos>", "▁", "▁Stra", "ße", "<0xC3>", "<0x41>", "A", "<turn|>"]
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, [], byte_fallback=True))
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken(t) for t in ("<pad>", "<eos>", "<turn|>")])
    return tokenizer


def test_byte_level_tokens():
    tokenizer = byte_level()
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    assert sorted(vocabulary.tokens[:256]) == sorted(bytes([b]) for b in range(256))
    assert vocabulary.tokens[tokenizer.token_to_id("Ġa")] == b" a"
    assert vocabulary.tokens[tokenizer.token_to_id('":"')] == b'":"'
    assert vocabulary.tokens[tokenizer.token_to_id("€")] == "€".encode()
    for reserved in ("<eos>", "<unused7>"):
        assert vocabulary.tokens[tokenizer.token_to_id(reserved)] is None


def test_sentence_piece_tokens():
    vocabulary = Vocabulary.from_tokenizer(sentence_piece(), size=12)
    assert vocabulary.tokens[:9] == [None, None, b" ", b" Stra", "ße".encode(), b"\xc3", b"A", b"A", None]
    assert len(vocabulary) == 12
    assert vocabulary.tokens[9:] == [None] * 3


def test_a_transformers_tokenizer_names_more_special_tokens():
    fast = PreTrainedTokenizerFast(tokenizer_object=byte_level(), eos_token="<eos>", bos_token='":"')
    vocabulary = Vocabulary.from_tokenizer(fast)
    assert vocabulary.tokens[fast.convert_tokens_to_ids('":"')] is None


def test_the_trie_holds_every_token_once():
    tokens = [None, b"ab", b"a", b"abc", b"b", b"a", b"", b"abd"]
    trie = Vocabulary(tokens).trie
    paths, found = {0: b""}, {}
    for node in range(len(trie.byte)):
        children = range(trie.child_start[node], trie.child_start[node + 1])
        assert sorted(trie.byte[child] for child in children) == [trie.byte[child] for child in children]
        paths.update((child, paths[node] + bytes([trie.byte[child]])) for child in children)
        for token in trie.token_ids[trie.token_start[node] : trie.token_start[node + 1]]:
            assert token not in found
            found[int(token)] = paths[node]
    assert len(paths) == len(trie.byte)
    assert found == {i: t for i, t in enumerate(tokens) if t}


def test_what_it_cannot_read_is_refused():
    with pytest.raises(CheckpointError, match="model only 2"):
        Vocabulary([b"a", b"b", b"c"], size=2)
    with pytest.raises(CheckpointError, match="fast tokenizer"):
        Vocabulary.from_tokenizer(object())
    tokenizer = Tokenizer(models.WordPiece({"a": 0}, unk_token="a"))
    tokenizer.decoder = decoders.WordPiece()
    with pytest.raises(CheckpointError, match="WordPiece"):
        Vocabulary.from_tokenizer(tokenizer)
