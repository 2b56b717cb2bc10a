"""Driver processes: their host, the launcher, the fence, deploy and drain, liveness and warnings. No Airflow."""
