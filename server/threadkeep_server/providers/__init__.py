"""Model providers: embedders, summarizers, tokenizers, and their shared HTTP client, retries and logging."""
