"""Model providers: request formats, retries, deadlines and errors."""
