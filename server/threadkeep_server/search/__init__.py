"""Recall: how texts become terms, how a question is read, how what was found is ranked. Pure: no I/O, no clock."""
