"""Generated streams: delay models, disorder by a seed, and loaders of public data sets."""
