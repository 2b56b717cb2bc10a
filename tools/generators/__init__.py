"""Generated streams: delay models, seeded disorder, and loaders of public data sets."""
