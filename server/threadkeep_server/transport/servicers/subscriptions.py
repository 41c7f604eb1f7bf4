"""threadkeep.v1.SubscriptionService."""

from __future__ import annotations

from collections.abc import AsyncIterator

from threadkeep.v1 import filter_pb2
from threadkeep.v1 import subscription_service_pb2 as pb

from ...domain.model import Caller
from ...service.feed.subscriptions import SubscriptionService
from ..convert.feed import followed_filter_of, scope_of, start_of
from ..convert.feed_encoder import FeedEncoder
from ..convert.sessions import ref_of
from ..resume_tokens import ResumeTokens


class SubscriptionServicer:
    def __init__(self, subscriptions: SubscriptionService, tokens: ResumeTokens) -> None:
        self._subscriptions = subscriptions
        self._tokens = tokens

    def WatchSession(self, request: pb.WatchSessionRequest, caller: Caller) -> AsyncIterator[bytes]:
        wanted, encoder = followed_filter_of(request.filter), self._encoder(request.filter)
        return self._subscriptions.watch_session(caller, ref_of(request.session), wanted, start_of(request), encoder)

    def WatchAll(self, request: pb.WatchAllRequest, caller: Caller) -> AsyncIterator[bytes]:
        wanted, encoder = followed_filter_of(request.filter), self._encoder(request.filter)
        scope, start = scope_of(request.scope), start_of(request)
        return self._subscriptions.watch_all(caller, scope.app, scope.user_id, dict(scope.labels), wanted, start, encoder)

    def _encoder(self, wanted: filter_pb2.EventFilter) -> FeedEncoder:
        return FeedEncoder(self._tokens, wanted.SerializeToString(deterministic=True))
