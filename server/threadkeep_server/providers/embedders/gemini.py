"""Gemini, and servers with its batchEmbedContents."""

from __future__ import annotations

from collections.abc import Sequence

from google import genai
from google.genai import types

from ..http import ModelClient, provider_errors

_OWN_ADDRESS = "https://generativelanguage.googleapis.com/"
_VERSION = "v1beta"
# Google's first models take the task of a text in a field. Later models reject the field and take it in the text.
_TASK_BY_FIELD = ("gemini-embedding-001", "gemini-embedding-exp", "text-embedding-", "embedding-")


class GeminiEmbeddings:
    """One model of the Gemini API. `base_url` is the address without a version: `https://host`. `dimensions` 0 is not sent.

    For a newer model, the text of Google's embeddings guide precedes each text; `prefixed`: whether (documents, queries) have
    prefixes of their own instead.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str,
        api_key: str,
        dimensions: int,
        prefixed: tuple[bool, bool],
        max_answer_bytes: int,
    ) -> None:
        address = base_url or _OWN_ADDRESS
        self._model = model
        self._dimensions = dimensions or None
        self._by_field = model.removeprefix("models/").startswith(_TASK_BY_FIELD)
        self._document_words = "" if self._by_field or prefixed[0] else "title: none | text: "
        self._query_words = "" if self._by_field or prefixed[1] else "task: search result | query: "
        self._http = ModelClient(address, max_answer_bytes=max_answer_bytes)
        options = types.HttpOptions(base_url=address, api_version=_VERSION, httpx_async_client=self._http)
        # Without these arguments the library reads the environment.
        self._client = genai.Client(api_key=api_key or "none", vertexai=False, http_options=options)
        self._models = self._client.aio.models

    async def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Sequence[float]]:
        before = self._query_words if query else self._document_words
        task = ("RETRIEVAL_QUERY" if query else "RETRIEVAL_DOCUMENT") if self._by_field else None
        # One Content per text: for newer models the library joins bare strings to one Content with one vector.
        contents: list[types.ContentUnion] = [types.Content(parts=[types.Part(text=before + text)]) for text in texts]
        with provider_errors():
            answer = await self._models.embed_content(
                model=self._model,
                contents=contents,
                config=types.EmbedContentConfig(task_type=task, output_dimensionality=self._dimensions),
            )
            found = [each.values for each in answer.embeddings or []]
            if len(found) != len(texts):
                raise ValueError("not one vector for each text")
            return [values or [] for values in found]

    async def aclose(self) -> None:
        await self._http.aclose()  # the library does not close a client that it was given
        await self._client.aio.aclose()
        self._client.close()
