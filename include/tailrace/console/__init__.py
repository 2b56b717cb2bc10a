"""The console: pages of all streams and of each query, in Airflow's API server and behind its log-in."""
