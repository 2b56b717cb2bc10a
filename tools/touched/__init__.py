"""The tests that a change can turn red: what has changed, which tests that touches and why, and how long they take.

It is a guess from imports, names and a table, in seconds: the gate still judges what lands, and `make test-all` what is
done.
"""
