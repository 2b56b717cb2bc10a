"""DAG factories of the four kinds of work on a query, with their operators, triggers, links and notifiers."""
