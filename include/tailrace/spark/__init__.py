"""The engine: Spark runs the stage and the tasks, Delta keeps what comes out. It knows the kinds' contracts only."""
