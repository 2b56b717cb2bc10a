"""Which task a tuple goes to."""
