import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from data import collate, corrupt, corrupt_behind, corrupt_evenly, draw_tokens, prompt_ids, tokenise
from documents import KINDS, write_document
from export import CHECKPOINT, export, load_model, to_transformers
from generator import make_example
from layout import MAX_GAP, collapse
from model import Nano, NanoConfig
from optimizer import orthogonalised
from pools import load_pools
from receipts import receipt
from tokenizer import JSON_TOKENS, PAD, SPECIAL_TOKENS, TURN_END
from tokenizers import Tokenizer
from writer import Writer

from dg_sglang.pipelines.prompt import Field

NANO = Path(__file__).parents[2] / "examples" / "nano"
SMALL = NanoConfig(vocab_size=1024, hidden_size=64, intermediate_size=64, expert_size=32, layers="SF", heads=2)
shipped = pytest.mark.skipif(not (CHECKPOINT / "config.json").exists(), reason="the checkpoint has not been exported")


@pytest.fixture(scope="module")
def pools(runs):
    return load_pools(runs / "pools.json")


@pytest.fixture(scope="module")
def tokenizer(runs):
    return Tokenizer.from_file(str(runs / "tokenizer.json"))


def examples(pools, count, seed=5):
    rng = random.Random(seed)
    return [make_example(rng, pools, level=rng.choice((0, 1, 2, 2))) for _ in range(count)]


def stated(fields, values):
    """(field, value) of all leaves that must be pieces of the document."""
    for field, value in zip(fields, values, strict=True):
        if field.kind == "object":
            yield from stated(field.children, value.values())
        elif field.kind == "list":
            for item in value:
                yield from stated(field.children, [item])
        elif field.kind not in ("boolean", "choice") and value is not None:
            yield field, value


class TestGenerator:
    def test_every_stated_value_stands_in_the_document(self, pools):
        for example in examples(pools, 300):
            text = collapse(example.document.text)
            for field, value in stated(example.fields, example.value.values()):
                assert isinstance(value, str)
                assert value in text, field.name

    def test_keys_come_in_prompt_order(self, pools):
        for example in examples(pools, 100):
            assert [field.name for field in example.fields] == list(json.loads(example.answer))
            assert example.answer == json.dumps(example.value, ensure_ascii=False, separators=(",", ":"))

    def test_choices_hold_the_answer(self, pools):
        chosen = [
            (field, example.value[field.name])
            for example in examples(pools, 400)
            for field in example.fields
            if field.kind == "choice"
        ]
        assert chosen
        assert all(value in field.choices for field, value in chosen)

    def test_covers_what_schemas_ask_for(self, pools):
        drawn = examples(pools, 600)
        kinds = {field.kind for example in drawn for field in example.fields}
        assert kinds == {"text", "date", "number", "currency", "boolean", "choice", "object", "list"}
        assert {example.document.language for example in drawn} == {"en", "de", "fr", "es", "it", "nl"}
        leaves = [value for example in drawn for value in example.value.values() if not isinstance(value, dict | list)]
        assert 0.08 < sum(value is None for value in leaves) / len(leaves) < 0.3
        rows = {len(value) for example in drawn for value in example.value.values() if isinstance(value, list)}
        assert {0, 1, 2, 3, 4, 5, 6} <= rows

    def test_draws_every_kind_of_document(self, pools):
        rng = random.Random(8)
        documents = [write_document(rng, pools, 2) for _ in range(400)]
        assert {document.kind for document in documents} == set(KINDS) - {"e_invoice"}
        blank = [document for document in documents if document.blank]
        assert len(blank) > 10
        for document in blank:
            assert not {fact.concept for fact in document.facts} & set(document.blank)
        shares = {kind: sum(document.kind == kind for document in documents) / 400 for kind in ("invoice", "receipt")}
        assert shares["invoice"] > 0.3
        assert shares["receipt"] > 0.2

    def test_reaches_the_longest_examples(self, pools, tokenizer):
        lengths = [len(tokenise(tokenizer, example)) for example in examples(pools, 150)]
        assert max(lengths) > 1200
        rng = random.Random(1)
        assert all(len(draw_tokens(rng, tokenizer, pools, 2, 500)) <= 500 for _ in range(20))

    def test_receipts_end_in_their_total(self, pools):
        rng = random.Random(2)
        for _ in range(60):
            writer = Writer(rng, pools, held_out=False)
            receipt(writer)
            facts = {fact.concept: fact.value for fact in writer.finished("receipt").facts}
            if "grand_total" in facts and not writer.style.noise:
                assert facts["grand_total"] == writer.style.number(writer.due)

    def test_text_looks_like_an_extractors(self, pools):
        for example in examples(pools, 100):
            lines = example.document.text.split("\n")
            assert all(line == line.strip() for line in lines)
            assert " " * (MAX_GAP + 1) not in example.document.text
            assert "\n\n\n" not in example.document.text

    def test_is_seeded(self, pools):
        assert [example.prompt for example in examples(pools, 20)] == [
            example.prompt for example in examples(pools, 20)
        ]


class TestTokenizer:
    def test_special_tokens_have_gemmas_names_and_places(self, tokenizer):
        assert [tokenizer.token_to_id(token) for token in SPECIAL_TOKENS] == list(range(len(SPECIAL_TOKENS)))
        added = tokenizer.get_added_tokens_decoder()
        assert all(added[i].special for i in range(len(SPECIAL_TOKENS)))
        assert not any(added[tokenizer.token_to_id(token)].special for token in JSON_TOKENS)

    @pytest.mark.parametrize(
        "text", ["Müller & Söhne GmbH  12.345,67 €\n\nx", "日本 \t\u00a0 – 🙂", '{"a":"b\\"","c":null}']
    )
    def test_round_trip(self, tokenizer, text):
        assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text

    def test_a_value_is_the_same_tokens_in_document_and_answer(self, tokenizer, pools):
        for example in examples(pools, 100):
            document = " ".join(map(str, tokenizer.encode(collapse(example.document.text)).ids))
            for field, value in stated(example.fields, example.value.values()):
                if json.dumps(value, ensure_ascii=False) == f'"{value}"' and not any(t in value for t in JSON_TOKENS):
                    assert " ".join(map(str, tokenizer.encode(value).ids)) in document, field.name


class TestData:
    def test_canvases_stand_at_block_offsets(self, tokenizer, pools):
        rng = random.Random(3)
        drawn = [draw_tokens(rng, tokenizer, pools, 2, 2000) for _ in range(40)]
        tokens = max(drawn, key=lambda tokens: len(tokens.answer))
        assert len(tokens.answer) > 64
        batch = collate(rng, [tokens], 64, 32, shorten=False)
        starts = (batch.context - len(tokens.prompt)).tolist()
        assert set(starts) == set(range(0, len(tokens.answer), 32))
        for start, target, is_text in zip(starts, batch.target.tolist(), batch.is_text.tolist(), strict=True):
            block = tokens.answer[start : start + 32]
            assert target == block + [PAD] * (32 - len(block))
            assert sum(is_text) == len(block)
        assert batch.ids[0, 1:][batch.answer_next[0, :-1]].tolist() == tokens.answer

    def test_value_marks(self, tokenizer, pools):
        example = next(e for e in examples(pools, 50) if all(isinstance(v, str) for v in e.value.values()))
        tokens = tokenise(tokenizer, example)
        assert tokens.answer[-1] == TURN_END
        marked = tokenizer.decode([t for t, m in zip(tokens.answer, tokens.is_value, strict=True) if m])
        assert all(value in marked for value in example.value.values() if "\\" not in value)
        assert not any(field.name in marked for field in example.fields if field.name not in example.document.text)

    def test_corruption(self, tokenizer, pools):
        rng = random.Random(4)
        batch = collate(rng, [draw_tokens(rng, tokenizer, pools, 0, 400) for _ in range(16)], 4, 128, shorten=True)
        runs = corrupt(batch, 1024, torch.Generator().manual_seed(1)).noisy
        edges = (runs[:, 1:] & ~runs[:, :-1]).sum(1)
        assert edges.max() > 4  # several runs of noise in a canvas
        assert edges.min() <= 1  # nothing but noise behind a clean beginning
        for corruption, extra in ((corrupt, {}), (corrupt_behind, {}), (corrupt_evenly, {"level": 0.5})):
            state = corruption(batch, 1024, torch.Generator().manual_seed(0), **extra)
            assert torch.equal(state.canvas[~state.noisy], batch.target[~state.noisy])
            assert 0.2 < state.noisy.float().mean() < 0.8
            assert state.weight.shape == batch.target.shape
        assert corrupt_evenly(batch, 1024, torch.Generator(), level=1.0).noisy.all()


class TestModel:
    @pytest.mark.parametrize("conditioned", [False, True])
    @pytest.mark.parametrize("config", [NanoConfig(), SMALL], ids=["nano", "small"])
    def test_forward_equals_transformers(self, config, conditioned):
        torch.manual_seed(0)
        model = Nano(config).eval()
        canvas = torch.randint(config.vocab_size, (2, config.canvas_length))
        ids = torch.randint(30, config.vocab_size, (1, 150))
        feedback = 3 * torch.randn(2, config.canvas_length, config.vocab_size)
        context = torch.tensor([90, 150])  # the second canvas sees 60 committed tokens more
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.02 * torch.randn_like(parameter))
            theirs = to_transformers(model)
            hidden, cache = model.encode(ids)
            conditioning = model.expected_embedding(feedback) if conditioned else None
            logits = model.logits(model.decode(canvas, cache, context, conditioning))
            for row, seen in enumerate(context.tolist()):
                extra = {"self_conditioning_logits": feedback[row : row + 1]} if conditioned else {}
                output = theirs(input_ids=ids[:, :seen], decoder_input_ids=canvas[row : row + 1], **extra)
                assert (output.logits[0] - logits[row]).abs().max() < 1e-4
                assert (output.encoder_last_hidden_state[0] - hidden[0, :seen]).abs().max() < 1e-4

    def test_orthogonalised(self):
        matrices = orthogonalised(torch.randn(3, 32, 16, generator=torch.Generator().manual_seed(0)))
        singular = torch.linalg.svdvals(matrices)
        assert singular.min() > 0.5
        assert singular.max() < 1.5


class TestExport:
    def test_transformers_loads_it_and_generates(self, tokenizer, runs, tmp_path):
        from transformers import AutoImageProcessor, AutoTokenizer, DiffusionGemmaForBlockDiffusion

        torch.manual_seed(0)
        export(Nano(SMALL).eval(), runs / "tokenizer.json", tmp_path)
        loaded = AutoTokenizer.from_pretrained(tmp_path)
        assert set(range(len(SPECIAL_TOKENS))) == set(loaded.all_special_ids)
        message = "Müller  12\nDocument:\nx"
        turn = loaded.apply_chat_template([{"role": "user", "content": message}], add_generation_prompt=True)
        assert turn["input_ids"] == prompt_ids(tokenizer, message)
        for name in (
            "image_token_id",
            "boi_token",
            "eoi_token",
            "image_token",
            "audio_token",
            "boa_token",
            "eoa_token",
        ):
            assert getattr(loaded, name) is not None
        model = DiffusionGemmaForBlockDiffusion.from_pretrained(tmp_path)
        assert model.generation_config.sampler_config.entropy_bound == 0.1
        ids = torch.tensor([turn["input_ids"]])
        output = model.generate(input_ids=ids, max_new_tokens=128, max_denoising_steps=2)
        assert output.sequences.shape[1] > ids.shape[1]
        assert AutoImageProcessor.from_pretrained(tmp_path).max_soft_tokens == 70

    def test_chat_template(self, runs, tmp_path):
        from transformers import AutoTokenizer

        export(Nano(SMALL).eval(), runs / "tokenizer.json", tmp_path)
        loaded = AutoTokenizer.from_pretrained(tmp_path)
        messages = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]},
            {"role": "assistant", "content": "<|channel>thought\nhm<channel|>A cat."},
            {"role": "user", "content": "Sure?"},
        ]
        text = loaded.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, enable_thinking=True)
        assert text == (
            "<bos><|turn>system\n<|think|>Be brief.<turn|>\n<|turn>user\n<|image|>What is it?<turn|>\n"
            "<|turn>model\nA cat.<turn|>\n<|turn>user\nSure?<turn|>\n<|turn>model\n"
        )

    @shipped
    def test_shipped_checkpoint(self):
        from transformers import AutoTokenizer

        assert sum(path.stat().st_size for path in CHECKPOINT.iterdir()) < 12e6
        loaded = AutoTokenizer.from_pretrained(CHECKPOINT)
        assert len(loaded) == json.loads((CHECKPOINT / "config.json").read_text())["text_config"]["vocab_size"]
        assert (CHECKPOINT / "README.md").exists()


@pytest.mark.slow
def test_smoke_training(runs, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("pools.json", "tokenizer.json"):
        (folder / name).write_bytes((runs / name).read_bytes())
    command = [sys.executable, NANO / "train.py", "--runs", folder, "--tokens", "600", "--save-every", "0.2"]
    command += ["--no-compile"]  # compiling takes longer than these few steps
    for minutes in ("0.5", "0.7"):  # the second run goes on where the first one stopped
        subprocess.run([*command, "--minutes", minutes], check=True, capture_output=True)
    lines = [json.loads(line) for line in (folder / "last.jsonl").read_text().splitlines()]
    steps = [line["step"] for line in lines]
    assert len(lines) >= 2  # each run ends with one, however slow the machine is
    assert steps == sorted(steps)
    assert lines[-1]["minutes"] >= 0.7
    model = load_model(folder / "last.pt")
    assert model.config.vocab_size == Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    assert all(parameter.isfinite().all() for parameter in model.parameters())


def test_prompt_is_the_pipelines(pools):
    example = examples(pools, 1)[0]
    assert all(isinstance(field, Field) for field in example.fields)
    assert example.prompt.endswith("Document:\n" + example.document.text)
