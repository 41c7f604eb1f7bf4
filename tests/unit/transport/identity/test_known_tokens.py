"""Configured tokens: what a repeated login costs and remembers."""

from __future__ import annotations

import pytest

from threadkeep_server.domain.errors import Unauthenticated
from threadkeep_server.domain.model import Caller
from threadkeep_server.domain.roles import READER, granted
from threadkeep_server.transport import auth
from threadkeep_server.transport.auth import Authenticator, digest_of

ANN = Caller("acme", "ann", granted(["reader"]))


async def test_an_accepted_token_is_hashed_once_and_remembered_in_one_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    authenticator = Authenticator({"ann-token": ANN})
    hashed: list[str] = []

    def counted(token: str) -> bytes:
        hashed.append(token)
        return digest_of(token)

    monkeypatch.setattr(auth, "digest_of", counted)
    for _ in range(3):
        assert await authenticator.admit(READER, "Bearer ann-token", method="/S/M") == ANN
    assert hashed == ["ann-token"]
    for spelling in ("bearer ann-token", "Bearer  ann-token", "bearer ann-token"):
        assert await authenticator.admit(READER, spelling, method="/S/M") == ANN
    assert len(hashed) == 4
    for _ in range(2):
        with pytest.raises(Unauthenticated):
            await authenticator.admit(READER, "Bearer bob-token", method="/S/M")
    assert hashed[4:] == ["bob-token"] * 2
