"""OpenAI, and servers with its embeddings API, such as Ollama, vLLM and Text Embeddings Inference."""

from __future__ import annotations

from collections.abc import Sequence

import openai

from ..http import ModelClient, provider_errors

_OWN_ADDRESS = "https://api.openai.com/v1"


class OpenAIEmbeddings:
    """One model behind an embeddings endpoint. `dimensions` 0 is not sent, since some servers do not support the field, nor is
    an empty type: `input_type` is no field of OpenAI's own."""

    def __init__(
        self,
        *,
        model: str,
        base_url: str,
        api_key: str,
        dimensions: int,
        query_type: str,
        document_type: str,
        max_answer_bytes: int,
    ) -> None:
        address = base_url or _OWN_ADDRESS
        self._model = model
        self._dimensions = dimensions or openai.omit
        self._types = {True: query_type, False: document_type}
        self._client = openai.AsyncOpenAI(
            # Never empty: the library would read the environment.
            api_key=api_key or "none",
            base_url=address,
            timeout=None,
            max_retries=0,
            http_client=ModelClient(address, max_answer_bytes=max_answer_bytes),
        )
        self._embeddings = self._client.embeddings  # imports half of the library, which is slow, at start

    async def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Sequence[float]]:
        input_type = self._types[query]
        with provider_errors():
            answer = await self._embeddings.create(
                model=self._model,
                input=list(texts),
                dimensions=self._dimensions,
                encoding_format="float",  # some servers do not support base64, the default of the library
                extra_body={"input_type": input_type} if input_type else None,
            )
            # `index` is the place of the text; a server may answer in another order.
            found = {item.index: item.embedding for item in answer.data}
            if len(answer.data) != len(texts) or found.keys() != set(range(len(texts))):
                raise ValueError("not one vector for each text")
            return [found[place] for place in range(len(texts))]

    async def aclose(self) -> None:
        await self._client.close()
