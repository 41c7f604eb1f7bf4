"""Python programs as processes that begin with their imports done: importing the command line alone takes most of a second."""
