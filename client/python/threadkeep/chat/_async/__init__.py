"""The parts that call models, tools and servers. The synchronous ones are generated from these."""
