"""Drivers as processes: a host that starts them, a launcher, a fence, and the signs that they live. No Airflow."""
