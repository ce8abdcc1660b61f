"""Is every answer that can be drawn valid, and closed in its budget? Random canvases of MaskBench's schemas.

python tests/benchmarks/soundness.py [--schemas 200] [--draws 1000] [--open] [--vocabulary nano|gemma] [--data FOLDER]

Each schema's automaton is drawn from under random logits of several temperatures, in canvases of many lengths, some
pulled towards the schema's valid and invalid instances. An independent validator (jsonschema-rs, with format
assertions) judges every answer; where a second one (jsonschema, which asserts few formats) disagrees, that is said.
Results are appended to --out as they come, and a second run continues there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from suite import DATA, rows

sys.path.append(str(Path(__file__).parents[1] / "support"))
from random_canvases import Drawn, random_answers
from validity import Judge
from vocabularies import VOCABULARIES, Tokens

from dg_sglang.errors import GrammarError
from dg_sglang.grammar import Grammar, JsonSchema, TokenAutomaton, compile_constraint

ROUND = 200  # draws between two looks at whether an automaton is worn
LONGEST = 400  # tokens of a shortest answer or a hint: longer ones cost time, and no new ground


def examine(row: dict[str, Any], tokens: Tokens, options: argparse.Namespace) -> dict[str, Any]:
    """Draw from one schema and count what is wrong."""
    begin = time.process_time()
    result: dict[str, Any] = {
        "name": row["name"],
        "open": options.open,
        "vocabulary": tokens.name,
        "seed": options.seed,
    }
    try:
        judge = Judge(row["schema"])
    except Exception as error:  # it doesn't know the schema's draft, or a reference
        return result | {"skipped": f"no validator: {str(error)[:100]}"}
    try:
        grammar = compile_constraint(JsonSchema(row["schema"], open=options.open))
        automaton = automaton_of(grammar, tokens)
    except GrammarError as error:
        return result | {"skipped": f"{type(error).__name__}: {str(error)[:100]}"}
    if automaton.min_tokens(automaton.start) > LONGEST:
        return result | {"skipped": "its shortest answer is long"}
    texts = (json.dumps(test["data"], ensure_ascii=False) for test in row["tests"])
    hints = [
        hint for text in texts if len(hint := tokens.tokenizer.encode(text, add_special_tokens=False).ids) <= LONGEST
    ]
    failures, disputed, distinct, unclosed = [], [], set(), 0
    answers = in_rounds(grammar, tokens, hints, options)
    while True:
        try:
            drawn = next(answers)
        except StopIteration:
            break
        except Exception as error:
            return result | {"crashed": f"{type(error).__name__}: {str(error)[:300]}"}
        distinct.add(drawn.text)
        if not drawn.closed:
            unclosed += 1
        fault = judge.fault(drawn.text)
        if not fault and not grammar.accepts(drawn.text):
            fault = "the grammar itself doesn't accept it"
        if fault:
            found = failures if judge.second_opinion(drawn.text) else disputed
            found.append({"text": drawn.text, "fault": fault, "how": drawn.how})
    return result | {
        "draws": options.draws,
        "distinct": len(distinct),
        "unclosed": unclosed,
        "invalid": len(failures),
        "disputed": len(disputed),
        "examples": (failures + disputed)[:3],
        "seconds": round(time.process_time() - begin, 2),
    }


def automaton_of(grammar: Grammar, tokens: Tokens) -> TokenAutomaton:
    """A fresh one."""
    return TokenAutomaton(
        grammar, tokens.vocabulary, end_token_ids=tokens.end_token_ids, pad_token_id=tokens.pad_token_id
    )


def in_rounds(grammar: Grammar, tokens: Tokens, hints: list[list[int]], options: argparse.Namespace) -> Iterator[Drawn]:
    """Random answers; where an automaton is worn, the next round takes a fresh one, as an engine does."""
    automaton = automaton_of(grammar, tokens)
    for begin in range(0, options.draws, ROUND):
        if automaton.is_worn:
            automaton = automaton_of(grammar, tokens)
        yield from random_answers(automaton, hints, min(ROUND, options.draws - begin), options.seed + begin)


def report(results: list[dict[str, Any]]) -> bool:
    """Counts and failures; whether there are none."""
    drawn = [one for one in results if "draws" in one]
    skipped = Counter(one["skipped"].partition(":")[0] for one in results if "skipped" in one)
    seconds, distinct = (sum(one[name] for one in drawn) for name in ("seconds", "distinct"))
    print(f"schemas drawn from {len(drawn)}, draws {sum(one['draws'] for one in drawn):,}, ", end="")
    print(f"distinct answers {distinct:,}, CPU seconds {seconds:.0f}")
    print(
        f"invalid {sum(one['invalid'] for one in drawn)}, not closed in budget {sum(one['unclosed'] for one in drawn)}"
    )
    print(f"invalid to jsonschema-rs only {sum(one['disputed'] for one in drawn)}")
    print(f"schemas passed over: {', '.join(f'{reason} {count}' for reason, count in skipped.most_common()) or 'none'}")
    crashed = [one for one in results if "crashed" in one]
    print(f"schemas whose draws raised an error: {len(crashed)}")
    for one in crashed:
        print(f"\n{one['name']}: {one['crashed']}")
    for one in drawn:
        if one["invalid"] or one["disputed"] or one["unclosed"]:
            print(
                f"\n{one['name']}: {one['invalid']} invalid, {one['disputed']} disputed, {one['unclosed']} not closed"
            )
            for example in one["examples"]:
                print(f"  {example['text'][:300]}\n    {example['fault']} ({example['how']})")
    return not crashed and not any(one["invalid"] or one["unclosed"] for one in drawn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="folder with maskbench_dev.jsonl.gz (%(default)s)")
    parser.add_argument("--schemas", type=int, default=200, help="how many to draw from (%(default)s)")
    parser.add_argument("--draws", type=int, default=1000, help="from each (%(default)s)")
    parser.add_argument("--open", action="store_true", help="open world (default: closed)")
    parser.add_argument("--vocabulary", choices=VOCABULARIES, default="nano")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only the schemas whose name contains this")
    parser.add_argument("--out", type=Path, help="JSON lines, one per schema; what is there isn't done again")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tokens = VOCABULARIES[options.vocabulary]()
    found = [row for row in rows(options.data / "maskbench_dev.jsonl.gz") if options.only in row["name"]]
    # Spread over the file, whose neighbours are alike, and on until enough of them have compiled.
    stride = max(1, len(found) // max(1, options.schemas))
    order = [row for start in range(stride) for row in found[start::stride]]
    kind = {"open": options.open, "vocabulary": options.vocabulary, "seed": options.seed}
    results = []
    if options.out and options.out.is_file():
        results = [json.loads(line) for line in options.out.read_text().splitlines()]
        results = [
            one for one in results if kind.items() <= one.items() and one.get("draws", options.draws) >= options.draws
        ]
    names = {one["name"] for one in results}
    for row in order:
        drawn = sum("draws" in one for one in results)
        if drawn >= options.schemas:
            break
        if row["name"] not in names:
            results.append(examine(row, tokens, options))
            if options.out:
                with options.out.open("a") as lines:
                    lines.write(json.dumps(results[-1]) + "\n")
            print(f"\r{drawn}/{options.schemas} {row['name'][:60]:60}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    if not report(results):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
