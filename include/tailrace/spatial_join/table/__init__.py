"""The join of a stream with a dimension table, by rasters and edge indexes (paper 003)."""
