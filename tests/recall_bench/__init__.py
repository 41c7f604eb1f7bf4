"""The recall benchmark: reads sets of conversations with questions, and measures how much of the evidence search finds.

`python -m tests.recall_bench.offline PATH` ranks without a server and prints the contribution of each step of the ranking.
"""
