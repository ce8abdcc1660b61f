import sys
from pathlib import Path

import pytest

NANO = Path(__file__).parents[2] / "examples" / "nano"
sys.path.insert(0, str(NANO))  # its scripts import each other as modules


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runs folder with small pools and a small tokenizer."""
    import json

    from pools import build_pools
    from tokenizer import corpus, train_tokenizer

    folder = tmp_path_factory.mktemp("runs")
    pools = build_pools(size=80)
    (folder / "pools.json").write_text(json.dumps(pools))
    train_tokenizer(corpus(pools, 150, seed=1), 1024).save(str(folder / "tokenizer.json"))
    return folder
