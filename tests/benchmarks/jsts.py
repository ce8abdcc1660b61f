"""The JSON Schema Test Suite, draft 2020-12: how many of its tests come out right.

python tests/benchmarks/jsts.py [--data FOLDER] [--closed] [--failures N]
"""

from suite import arguments, judge, report, rows


def main() -> None:
    options = arguments("the JSON Schema Test Suite, draft 2020-12")
    results = []
    for row in rows(options.data / "jsts_draft2020-12.jsonl.gz"):
        name = f"{row['file']}: {row['description']}"
        if options.only in name:
            results.append(judge(name, row["schema"], row["tests"], open_world=not options.closed))
    report(results, failures=options.failures)


if __name__ == "__main__":
    main()
