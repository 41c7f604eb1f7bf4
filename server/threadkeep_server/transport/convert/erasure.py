"""Conversion of erasures, and of the users who have data to erase."""

from __future__ import annotations

import json

from threadkeep.v1 import erasure_pb2, session_service_pb2

from ...domain import validation
from ...domain.erasure import ErasureScope
from ...service.erasure import Receipt
from ...store.contract.erasure import UserName
from .sessions import set_time


def label_scope(request: session_service_pb2.DeleteByLabelRequest) -> ErasureScope:
    return ErasureScope(
        user_id=validation.identifier("user_id", request.user_id) or None,
        app=app_of(request),
        labels=validation.labels("labels", request.labels),
        memories=request.purge_memories,
    )


def app_of(request: session_service_pb2.DeleteByLabelRequest | session_service_pb2.DeleteUserRequest) -> str | None:
    """Returns the app of a request; None: any."""
    return validation.identifier("app", request.app) if request.HasField("app") else None


def receipt_to(receipt: Receipt) -> erasure_pb2.ErasureReceipt:
    erased = receipt.erased
    made = erasure_pb2.ErasureReceipt(
        request_id=receipt.request_id,
        deleted_sessions=erased.sessions,
        deleted_events=erased.events,
        deleted_memories=erased.memories,
        deleted_embeddings=erased.embeddings,
        deleted_consumers=erased.consumers,
        ids_digest=erased.ids_digest,
        statement=receipt.statement,
        signature=receipt.signature,
        key_id=receipt.key_id,
    )
    if receipt.archives is not None:
        made.deleted_archives = receipt.archives
    set_time(made.start_time, erased.start_time)
    if erased.finish_time is not None:
        set_time(made.finish_time, erased.finish_time)
    return made


def user_to(user: UserName) -> session_service_pb2.UserRef:
    return session_service_pb2.UserRef(app=user.app, user_id=user.user_id)


def cursor_to(user: UserName) -> str:
    """Returns the text of a page token."""
    return json.dumps(user)


def cursor_of(text: str) -> UserName:
    """Returns what cursor_to was given."""
    return UserName(*json.loads(text))
