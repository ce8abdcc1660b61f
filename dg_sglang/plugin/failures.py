"""What becomes of a request whose answer can't be computed: it ends with an error, the server goes on."""

from http import HTTPStatus
from typing import Any

from sglang.srt.managers.schedule_batch import FINISH_ABORT

from dg_sglang.errors import CheckpointError, DgError
from dg_sglang.plugin.service import named


def fail(req: Any, error: DgError) -> None:
    """End a request with HTTP 500 for damaged weights, 400 for what the request itself brought about."""
    if isinstance(error, CheckpointError):
        req.to_finish = FINISH_ABORT(named(error), HTTPStatus.INTERNAL_SERVER_ERROR, "InternalServerError")
    else:
        req.to_finish = FINISH_ABORT(named(error), HTTPStatus.BAD_REQUEST, "BadRequestError")
