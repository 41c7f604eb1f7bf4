"""Tests of the agent kit: of the asynchronous and the blocking form, with `call` and with `stream`."""
