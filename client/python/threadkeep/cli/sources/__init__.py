"""What `threadkeep import` reads: files of conversations, databases of frameworks, and transcripts in folders."""

from .inputs import Input, Inputs
from .opening import opened

__all__ = ["Input", "Inputs", "opened"]
