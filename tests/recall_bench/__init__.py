"""How much of the evidence recall finds: sets of conversations with questions, read, asked and measured.

`python -m tests.recall_bench.offline PATH` ranks without a server and tells what each step of the ranking contributes.
"""
