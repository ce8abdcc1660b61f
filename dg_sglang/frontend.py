"""SGLang's frontend language (`sgl.function`) on a DiffusionGemma server: choices, and Gemma 4's turns and images."""

from typing import Any

from sglang.lang.backend.runtime_endpoint import RuntimeEndpoint
from sglang.lang.chat_template import ChatTemplate, get_chat_template, register_chat_template
from sglang.lang.choices import ChoicesDecision
from sglang.lang.ir import SglSamplingParams

from dg_sglang.errors import ConfigError
from dg_sglang.grammar import Choice
from dg_sglang.wire import to_wire

TEMPLATE = "dg-gemma4"
"""Name of the chat template among SGLang's."""


class Endpoint(RuntimeEndpoint):  # type: ignore[misc]
    """A `RuntimeEndpoint`, to be used as the backend of `sgl.function` programs.

    `sgl.select` and `sgl.gen(choices=…)` compare log-probabilities of prompts, which block diffusion does not have: a
    canvas is drawn, not read token by token. Here they are one request constrained to the choices, whose answer is the
    most probable choice given the drafted canvas; `choices_method` has no say in it.
    """

    def __init__(self, base_url: str, api_key: str | None = None, **settings: Any) -> None:
        """As `RuntimeEndpoint`; the chat template is Gemma 4's, unless `chat_template_name` names another."""
        _register()
        super().__init__(base_url, api_key, **{"chat_template_name": TEMPLATE} | settings)

    def commit_lazy_operations(self, s: Any) -> None:
        """Nothing: there is no prefix cache to fill before a fork."""

    def select(self, s: Any, choices: list[str], temperature: float, choices_method: Any) -> Any:
        """The choice that the model writes, of those given.

        Raises:
            GrammarError: there are no choices, or they are not texts.
            RuntimeError: the server refuses the request.
        """
        constraint = to_wire(Choice(choices))
        length = max(len(choice.encode()) for choice in choices) + 1  # a token is a byte at least; one ends the answer
        text, about = self.generate(s, SglSamplingParams(max_new_tokens=length, regex=constraint["regex"]))
        if text not in choices:
            raise ConfigError(f"the server at {self.base_url} answered {text!r}, none of the choices: it has no plugin")
        return ChoicesDecision(decision=text, meta_info=about)


def _register() -> None:
    try:
        get_chat_template(TEMPLATE)
    except KeyError:
        register_chat_template(
            ChatTemplate(
                name=TEMPLATE,
                default_system_prompt=None,
                role_prefix_and_suffix={
                    "system": ("<|turn>system\n", "<turn|>\n"),
                    "user": ("<|turn>user\n", "<turn|>\n"),
                    "assistant": ("<|turn>model\n", "<turn|>\n"),
                },
                stop_str=("<turn|>",),
                image_token="<|image|>",  # noqa: S106
            )
        )
