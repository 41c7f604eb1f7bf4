"""The tests of each adapter; `test_frameworks` runs them in the environment of the framework."""
