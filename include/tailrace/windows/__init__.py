"""Windows over event time, sliding or of a calendar, and the rows of their panes."""
