"""Driver processes: the host that runs them, the launcher, the fence, and liveness detection. No Airflow."""
