"""What becomes of a request whose answer can't be computed: it ends with an error, the server goes on."""

import logging
from http import HTTPStatus
from typing import Any

from sglang.srt.managers.schedule_batch import FINISH_ABORT

from dg_sglang.errors import CheckpointError, DgError
from dg_sglang.plugin.service import named

_LOGGER = logging.getLogger(__name__)


def fail(req: Any, error: Exception) -> None:
    """End a request with HTTP 400 for what it has brought about itself, with 500 for damaged weights and our mistakes.

    SGLang's scheduler ends the whole server for an exception, which is one request's.
    """
    if isinstance(error, DgError) and not isinstance(error, CheckpointError):
        req.to_finish = FINISH_ABORT(named(error), HTTPStatus.BAD_REQUEST, "BadRequestError")
        return
    _LOGGER.error("request %s", req.rid, exc_info=error)
    req.to_finish = FINISH_ABORT(named(error), HTTPStatus.INTERNAL_SERVER_ERROR, "InternalServerError")
