"""The codec of stored events and memories: that of the store's contract, with encryption."""

from __future__ import annotations

from ....domain.model import EventDraft
from ...contract.codec import Codec
from .vault import Vault


class StoredCodec:
    """Encodes what rows contain. Its other methods take decrypted bytes, and are those of the contract's codec. `vault` None:
    nothing is encrypted."""

    def __init__(self, plain: Codec, vault: Vault | None = None) -> None:
        self.plain = plain
        self.vault = vault
        self.words_version = plain.words_version
        self.text = plain.text
        self.facts = plain.facts
        self.usage = plain.usage
        self.texts = plain.texts
        self.words = plain.words
        self.memory_words = plain.memory_words
        self.reading = plain.reading
        self.ties = plain.ties

    def event(self, tenant: str, draft: EventDraft, seq: int, record_time: int) -> bytes:
        """Returns the column of an event's body."""
        return self.encrypt(tenant, self.plain.seal(draft, seq, record_time))

    def encrypt(self, tenant: str, data: bytes) -> bytes:
        return data if self.vault is None else self.vault.encrypt(tenant, data)

    def decrypt(self, data: bytes) -> bytes:
        """Returns what a column contains. Raises EncryptionKeyDestroyed, StoreUnavailable."""
        return data if self.vault is None else self.vault.decrypt(data)

    def encrypts(self, tenant: str) -> bool:
        """Whether texts of the tenant are encrypted from now on."""
        return self.vault is not None and self.vault.encrypts(tenant)

    def covers(self, tenant: str) -> bool:
        """Whether texts of the tenant may be encrypted."""
        return self.vault is not None and self.vault.covers(tenant)

    def scans(self, tenant: str) -> bool:
        """Whether a search of the tenant decrypts what it searches: it has no index. Raises SearchDisabled."""
        return self.vault is not None and self.vault.scans(tenant)

    async def ready(self, tenant: str) -> None:
        """Call it before encrypting. Raises EncryptionKeyDestroyed."""
        if self.vault is not None:
            await self.vault.ready(tenant)
