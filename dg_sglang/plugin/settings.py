"""The server's default settings, from SGLang's `--dllm-algorithm-config`."""

from collections.abc import Mapping
from typing import Any

_SECTIONS = {
    "sampler_config": ("entropy_bound",),
    "temperature_schedule": ("t_min", "t_max"),
    "stopping_config": ("confidence_threshold", "stability_threshold"),
}
_UPSTREAM_ONLY = ("block_size", "use_temperature_table", "capture_input_preparation")


def algorithm_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of GenerationConfig (and `seed`) from the YAML mapping that upstream's Gemma4Renoise reads.

    Upstream's sections are flattened; what only upstream's implementation reads is left out.
    """
    settings = {name: value for name, value in config.items() if name not in (*_SECTIONS, *_UPSTREAM_ONLY)}
    for section, names in _SECTIONS.items():
        given = config.get(section) or {}
        settings |= {name: given[name] for name in names if name in given}
    return settings
