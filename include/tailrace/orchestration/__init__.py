"""The DAGs and their tasks, and an Airflow of one's own. Only here is airflow imported."""
