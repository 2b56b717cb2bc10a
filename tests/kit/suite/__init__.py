"""How the suite chooses, orders, times and records its tests; the pages and files that tests read."""
