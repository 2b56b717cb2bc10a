"""The Python API: queries as objects, their runs, and their answers as tables of other libraries."""
