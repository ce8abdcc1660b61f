from dg_sglang.plugin.settings import algorithm_defaults


def test_upstreams_sections_are_flattened() -> None:
    config = {
        "max_denoising_steps": 12,
        "sampler_config": {"entropy_bound": 0.2, "_cls_name": "x"},
        "temperature_schedule": {"t_min": 0.1, "t_max": 0.9},
        "stopping_config": {"confidence_threshold": 0.1, "stability_threshold": 2},
        "seed": 3,
        "policy": {"stop_after": 2},
        "block_size": 16,
        "use_temperature_table": True,
    }
    assert algorithm_defaults(config) == {
        "max_denoising_steps": 12,
        "entropy_bound": 0.2,
        "t_min": 0.1,
        "t_max": 0.9,
        "confidence_threshold": 0.1,
        "stability_threshold": 2,
        "seed": 3,
        "policy": {"stop_after": 2},
    }


def test_an_empty_configuration_changes_nothing() -> None:
    assert algorithm_defaults({}) == {}
