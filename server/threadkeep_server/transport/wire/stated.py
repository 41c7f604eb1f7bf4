"""Reads what stored bytes state, for verification."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from threadkeep.v1 import event_pb2, message_pb2

from ...store.contract.codec import Readers, Stated


def _event(body: bytes) -> Stated:
    try:
        event = event_pb2.SessionEvent.FromString(body)
    except DecodeError as error:
        raise ValueError("no event") from error
    return Stated(
        seq=event.seq,
        event_id=event.event_id,
        role=event.message.role,
        author=event.author,
        author_role=event.author_role,
        branch=event.branch,
        synthetic=event.synthetic,
        size=event.size_bytes,
        tokens=event.token_estimate,
        erased=event.erased,
    )


def _message(content: bytes) -> object:
    try:
        return message_pb2.ChatMessage.FromString(content)
    except DecodeError as error:
        raise ValueError("no message") from error


READERS = Readers(_event, _message)
