"""The experiments of paper 003: joins of taxis with districts and with one another, beside Apache Sedona."""
