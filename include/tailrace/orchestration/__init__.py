"""The DAGs, their operators and triggers, and an embedded Airflow: the only package that imports airflow."""
