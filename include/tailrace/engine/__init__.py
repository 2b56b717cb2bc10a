"""The engine of a query, in process: the stateless stage, the stateful task, and what passes between them."""
