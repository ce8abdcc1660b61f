import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dg_sglang.canvas import CanvasState
from dg_sglang.config import GenerationConfig, Policy
from dg_sglang.errors import CheckpointError
from dg_sglang.grammar import CanvasPosterior, Regex, TokenAutomaton, Vocabulary, compile_constraint
from dg_sglang.sampler import accept, denoise_step, temperature, within_window

TOKENS = [b"a", b"b", b"c", b"ab", None, None]
END, PAD = 4, 5
LENGTH = 6


def state(
    config: GenerationConfig | None = None, *, seed: int = 0, constrained: bool = False, **options
) -> CanvasState:
    config = config or GenerationConfig(max_denoising_steps=8)
    posterior = None
    if constrained:
        grammar = compile_constraint(Regex("(a|b){2,4}"))
        automaton = TokenAutomaton(grammar, Vocabulary(TOKENS), end_token_ids=[END], pad_token_id=PAD)
        fixed = options.get("fixed")
        posterior = CanvasPosterior(automaton, LENGTH, start=automaton.start, remaining=0, fixed=fixed)
    generator = torch.Generator().manual_seed(seed)
    return CanvasState(
        config, generator, length=LENGTH, vocab_size=len(TOKENS), posterior=posterior, **options
    )  # fmt: skip


def random_logits(seed: int, scale: float = 3.0, rows: int = 1) -> torch.Tensor:
    return torch.randn(rows, LENGTH, len(TOKENS), generator=torch.Generator().manual_seed(seed)) * scale


# Half precision: in float32 a sum swallows what is smaller than its last bit, here as upstream.
@given(st.lists(st.floats(0, 3, width=16, allow_subnormal=False), min_size=1, max_size=12), st.floats(0, 5))
def test_accept_is_the_entropy_bound_rule(values: list[float], bound: float) -> None:
    accepted = accept(torch.tensor([values]), bound)[0].tolist()
    chosen = {i for i, kept in enumerate(accepted) if kept}
    order = sorted(range(len(values)), key=lambda i: values[i])
    # The accepted positions are the k most certain ones.
    assert chosen and max(values[i] for i in chosen) <= min((values[i] for i in order[len(chosen) :]), default=math.inf)
    # k is the largest number with sum - max <= bound; sums in float32 may fall on either side of an exact bound.
    sums = [sum(values[i] for i in order[: k + 1]) - values[order[k]] for k in range(len(order))]
    assert sums[len(chosen) - 1] <= bound + 1e-4
    assert len(chosen) == len(order) or sums[len(chosen)] > bound - 1e-4


def test_positions_beyond_the_window_use_up_none_of_the_bound() -> None:
    entropy = torch.tensor([[0.0, 0.5, 0.6, 0.2, 0.2, 0.2]])
    allowed = torch.tensor([[True, True, True, False, False, False]])
    assert accept(entropy, 0.3, allowed).tolist() == [[True, True, False, False, False, False]]
    assert accept(entropy, 9.0, allowed).tolist() == allowed.tolist()
    assert not accept(entropy, 9.0, torch.zeros_like(allowed)).any()


def test_temperature_falls_linearly() -> None:
    current = state(GenerationConfig(max_denoising_steps=4, t_max=0.8, t_min=0.4))
    seen = []
    for step in range(4):
        current.steps = step
        seen.append(temperature(current).item())
    assert seen == pytest.approx([0.8, 0.7, 0.6, 0.5])


def test_the_window_ends_at_the_frontier() -> None:
    entropy = torch.tensor([[0.0, 0.01, 0.5, 0.0, 0.0, 0.0]])
    policy = Policy(frontier_window=2, frontier_threshold=0.1)
    assert within_window(entropy, policy).tolist() == [[True, True, True, True, False, False]]
    assert within_window(entropy * 0, policy).all()  # no frontier: nothing is cut off
    assert within_window(entropy, Policy()).all()


@pytest.mark.parametrize("sampling", ["inversion", "multinomial"])
def test_one_step_without_constraint(sampling: str) -> None:
    """Against the same random numbers, drawn in upstream's order: the draft, then the noise."""
    logits = random_logits(1)
    current = state(GenerationConfig(max_denoising_steps=8, sampling=sampling), seed=5)
    generator = torch.Generator().manual_seed(5)
    start = torch.randint(0, len(TOKENS), (1, LENGTH), generator=generator)
    assert torch.equal(current.tokens, start)
    scaled = logits / 0.8
    probabilities = scaled[0].softmax(-1)
    if sampling == "multinomial":
        draft = torch.multinomial(probabilities, 1, generator=generator).T
    else:
        uniform = torch.rand(LENGTH, 1, dtype=torch.float64, generator=generator)
        draft = (probabilities.double().cumsum(-1) > uniform).int().argmax(-1)[None]
    noise = torch.randint(0, len(TOKENS), (1, LENGTH), generator=generator)
    entropy = torch.distributions.Categorical(logits=scaled).entropy()
    output = denoise_step(logits, [current])
    accepted = accept(entropy, 0.1)
    assert torch.equal(output.tokens, torch.where(accepted, draft, noise))
    assert torch.equal(current.best, scaled.argmax(-1))
    torch.testing.assert_close(output.conditioning, scaled)
    assert not output.done.any() and current.steps == 1


def mixed(seed: int) -> list[CanvasState]:
    """Free rows, constrained ones under every policy, and fixed tokens."""
    tilted = Policy(accept="tilted", condition="tilted", frontier_window=2)
    configs = [
        GenerationConfig(entropy_bound=0.0, t_max=0.9),
        GenerationConfig(entropy_bound=0.3, policy=tilted),
        GenerationConfig(entropy_bound=2.0, sampling="multinomial"),
        GenerationConfig(entropy_bound=1.0, policy=Policy(flatten=0.5, stop_after=1)),
        GenerationConfig(max_denoising_steps=2),
    ]
    fixed = [None, {0: 1}, None, None, {2: 0}]
    return [
        state(config, seed=seed + row, constrained=row in (1, 3, 4), fixed=fixed[row])
        for row, config in enumerate(configs)
    ]


def test_rows_do_not_see_one_another() -> None:
    """Bit for bit, over steps in which some rows finish and the others go on."""
    together, alone = mixed(0), mixed(0)
    for step in range(4):
        rows = [row for row, current in enumerate(together) if not current.done]
        logits = random_logits(step, rows=len(together))[rows]
        output = denoise_step(logits, [together[row] for row in rows])
        for place, row in enumerate(rows):
            single = denoise_step(logits[place : place + 1], [alone[row]])
            assert torch.equal(output.tokens[place], single.tokens[0])
            assert torch.equal(output.conditioning[place], single.conditioning[0])
            assert torch.equal(together[row].best, alone[row].best)
            assert torch.equal(together[row].confidence, alone[row].confidence)
    assert together[4].done and not together[0].done


def test_a_damaged_row_is_its_own_trouble() -> None:
    """Rows with logits that aren't finite are reported, their states stay; the others get what they get alone."""
    logits = random_logits(7, rows=5)
    logits[0, 3, 2], logits[3, 0, 0] = torch.nan, torch.inf
    together, alone, errors = mixed(3), mixed(3), {}
    before = [current.tokens.clone() for current in together]
    output = denoise_step(logits, together, errors=errors)
    assert set(errors) == {0, 3} and all(isinstance(error, CheckpointError) for error in errors.values())
    for row, current in enumerate(together):
        if row in errors:
            assert torch.equal(current.tokens, before[row]) and current.steps == 0
        else:
            single = denoise_step(logits[row : row + 1], [alone[row]])
            assert torch.equal(output.tokens[row], single.tokens[0])


def test_the_conditioning_may_take_old_memory() -> None:
    logits = random_logits(2)
    fresh = denoise_step(logits, [state()]).conditioning
    used, other = torch.ones_like(fresh), torch.ones(2, 2)
    assert denoise_step(logits, [state()], out=used).conditioning is used
    assert torch.equal(used, fresh)
    assert torch.equal(denoise_step(logits, [state()], out=other).conditioning, fresh)


@pytest.mark.parametrize(("threshold", "steps"), [(0, 1), (1, 2), (3, 4)])
def test_stable_and_confident_stop(threshold: int, steps: int) -> None:
    certain = torch.zeros(1, LENGTH, len(TOKENS))
    certain[..., 2] = 50.0
    current = state(GenerationConfig(stability_threshold=threshold))
    for step in range(1, steps + 1):
        assert not current.done
        denoise_step(certain, [current])
        assert current.steps == step
    assert current.done
    assert current.confidence.tolist() == [[1.0] * LENGTH]


def test_an_uncertain_or_moving_canvas_goes_on_to_the_cap() -> None:
    flat = torch.zeros(1, LENGTH, len(TOKENS))
    current = state(GenerationConfig(max_denoising_steps=5))
    for _ in range(5):
        assert not current.done
        denoise_step(flat, [current])
    assert current.done and current.confidence.tolist() == [pytest.approx([1 / 6] * LENGTH)]

    current = state(GenerationConfig(max_denoising_steps=5, stability_threshold=1))
    for step in range(5):
        assert not current.done
        moving = torch.zeros(1, LENGTH, len(TOKENS))
        moving[..., step % 2] = 50.0
        denoise_step(moving, [current])
    assert current.done


def test_mode_stop_counts_unchanged_steps() -> None:
    config = GenerationConfig(policy=Policy(stop="mode", stop_after=3))
    current = state(config, constrained=True)
    logits = random_logits(3, scale=0.1)  # far from confident
    for _ in range(3):
        denoise_step(logits, [current])
        assert not current.done
    denoise_step(logits, [current])
    assert current.done and current.unchanged == 3


@pytest.mark.parametrize("accepting", ["raw", "tilted"])
@pytest.mark.parametrize("condition", ["raw", "tilted"])
def test_the_policy_says_who_reads_tilted_marginals(accepting: str, condition: str) -> None:
    policy = Policy(accept=accepting, condition=condition, entropy_bound=0.3, flatten=0.5)
    logits = random_logits(4)
    current = state(GenerationConfig(policy=policy), constrained=True, seed=9)
    oracle = state(constrained=True, seed=9)
    assert oracle.posterior is not None
    scaled = logits / 0.8
    oracle.posterior.update(scaled[0] * 0.5)
    draft = oracle.posterior.draw(oracle.generator)
    noise = oracle.noise(LENGTH)
    tilted, raw = oracle.posterior.entropy()[None], torch.distributions.Categorical(logits=scaled).entropy()
    accepted = accept(tilted if accepting == "tilted" else raw, 0.3)

    output = denoise_step(logits, [current])
    assert torch.equal(output.tokens, torch.where(accepted, draft[None], noise))
    assert torch.equal(current.best[0], oracle.posterior.mode())
    expected = oracle.posterior.tilted_logits() if condition == "tilted" else scaled[0]
    torch.testing.assert_close(output.conditioning[0], expected)
    assert output.conditioning.isfinite().all()


def test_beyond_the_window_nothing_is_accepted() -> None:
    """Even a certain position: with vocabulary noise it would change in the long run, so it must be redrawn."""
    policy = Policy(frontier_window=1, frontier_threshold=0.01, stop_after=99)
    config = GenerationConfig(max_denoising_steps=99, entropy_bound=100.0, policy=policy)
    logits = torch.zeros(1, LENGTH, len(TOKENS))
    logits[0, 2:, PAD] = 60.0
    logits[0, 1, END] = 60.0  # every position but the first is certain, raw
    current = state(config, constrained=True)
    seen = set()
    for _ in range(20):
        seen.add(tuple(denoise_step(logits, [current]).tokens[0, 1:].tolist()))
    assert len(seen) > 10


@pytest.mark.parametrize("constrained", [False, True])
def test_fixed_tokens_stand_from_the_first_step_to_the_last(constrained: bool) -> None:
    fixed = {1: 1, 3: 0} if constrained else {0: 2, 5: 3}
    config = GenerationConfig(max_denoising_steps=6, confidence_threshold=0.0)
    current = state(config, constrained=constrained, fixed=fixed)
    for step in range(6):
        assert all(current.tokens[0, position] == token for position, token in fixed.items())
        output = denoise_step(random_logits(step), [current])
        for position, token in fixed.items():
            assert current.best[0, position] == token
            weights = output.conditioning[0, position].softmax(-1)
            assert weights[token] == 1.0 and weights.sum() == 1.0
        assert output.conditioning.isfinite().all()
        if current.done:
            break
    assert all(current.confidence[0, position] == 1.0 for position in fixed)


def test_confidence_is_the_tilted_marginal_under_a_constraint() -> None:
    config = GenerationConfig(max_denoising_steps=1, t_max=1.0, t_min=1.0)
    current, logits = state(config, constrained=True), random_logits(6)
    denoise_step(logits, [current])
    assert current.posterior is not None
    current.posterior.update(logits[0])
    q = current.posterior.tilted_logits().softmax(-1)
    assert current.confidence[0].tolist() == pytest.approx(q.gather(-1, current.best[0, :, None])[:, 0].tolist())


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_broken_logits_are_an_error(value: float) -> None:
    logits = random_logits(7)
    logits[0, 3, 2] = value
    with pytest.raises(CheckpointError, match="not finite"):
        denoise_step(logits, [state()])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_conditioning_is_finite_in_every_dtype(dtype: torch.dtype) -> None:
    current = state(GenerationConfig(policy=Policy(condition="tilted")), constrained=True, fixed={0: 0})
    output = denoise_step(random_logits(8, scale=10.0), [current], dtype=dtype)
    assert output.conditioning.dtype == dtype
    assert output.conditioning.isfinite().all()
    assert output.conditioning.float().softmax(-1).isfinite().all()
