"""Use cases: the only place that sequences what the layers below offer. They take a Caller and know no transport."""
