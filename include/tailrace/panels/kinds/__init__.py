"""The panel `kind`, with a file for each of the four kinds."""
