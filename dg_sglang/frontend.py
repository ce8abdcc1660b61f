"""SGLang's frontend language (`sgl.function`) on a DiffusionGemma server: Gemma 4's turns and image token."""

from typing import Any

from sglang.lang.backend.runtime_endpoint import RuntimeEndpoint
from sglang.lang.chat_template import ChatTemplate, register_chat_template

CHAT_TEMPLATE = ChatTemplate(
    name="dg-gemma4",
    default_system_prompt=None,
    role_prefix_and_suffix={
        "system": ("<|turn>system\n", "<turn|>\n"),
        "user": ("<|turn>user\n", "<turn|>\n"),
        "assistant": ("<|turn>model\n", "<turn|>\n"),
    },
    stop_str=("<turn|>",),
    image_token="<|image|>",  # noqa: S106
)


def endpoint(url: str, **settings: Any) -> RuntimeEndpoint:
    """A server as the backend of `sgl.function` programs.

    SGLang knows no chat template for this model: with its default one, pictures would be left out without a word.

    Args:
        url: the server's.
        settings: `RuntimeEndpoint`'s other arguments.
    """
    register_chat_template(CHAT_TEMPLATE)
    return RuntimeEndpoint(url, **{"chat_template_name": CHAT_TEMPLATE.name} | settings)


def checked(state: Any) -> Any:
    """A program's state once it has ended.

    `run` keeps the error of a request to itself, and `state.error()` may be asked too early to know it.

    Raises:
        RuntimeError: the server refused a request of the program.
    """
    executor = state.stream_executor
    executor.sync()
    executor.end()
    executor.worker.join()
    if executor.error_ is not None:
        raise executor.error_
    return state
