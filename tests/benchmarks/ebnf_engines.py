"""Our `Ebnf` against xgrammar's, the engine behind SGLang's `ebnf`, on random grammars and all short texts.

    pip install -e ".[engines]" && python tests/benchmarks/ebnf_engines.py --grammars 500

Prints how often both agree and every grammar on which they don't.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings

from dg_sglang.errors import EmptyLanguageError, InvalidSchemaError
from dg_sglang.grammar import Ebnf, compile_constraint

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from random_grammars import GRAMMARS, TEXTS, gbnf


def main() -> None:
    import xgrammar
    from xgrammar.testing import _is_grammar_accept_string as accepts

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grammars", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()

    @seed(arguments.seed)
    @given(GRAMMARS)
    @settings(max_examples=arguments.grammars, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def compare(grammar) -> None:
        written = gbnf(grammar)
        counts["grammars"] += 1
        try:
            for name in grammar:  # xgrammar 0.2.9 crashes where a rule derives nothing, even one that nothing uses
                compile_constraint(Ebnf(written, root=name))
            ours = compile_constraint(Ebnf(written))
            members = [text for text in TEXTS if ours.accepts(text)]
        except EmptyLanguageError:
            counts["with a rule that derives nothing: left out"] += 1
            return
        except InvalidSchemaError as error:
            counts[f"refused: {'left recursion' if 'left-recursive' in str(error) else error}"] += 1
            return
        theirs = xgrammar.Grammar.from_ebnf(written)
        expected = [text for text in TEXTS if accepts(theirs, text)]
        counts["agree on every text" if members == expected else "differ"] += 1
        if members != expected:
            ours_only, theirs_only = set(members) - set(expected), set(expected) - set(members)
            print(f"{written}\n  ours only: {ours_only}, xgrammar only: {theirs_only}\n")

    compare()
    for what, count in counts.items():
        print(f"{count:6} {what}")


if __name__ == "__main__":
    main()
