"""The engine of a query, in process: the stateless pipeline, the stateful task, and the messages between them."""
