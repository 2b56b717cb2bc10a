"""The form of the tree: rules that code, tests and pages keep, and texts that follow from code.

No test holds them, so that bookkeeping turns no landing red. `make tree` says what is to mend.
"""
