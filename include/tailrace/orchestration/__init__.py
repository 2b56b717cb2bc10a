"""What deploys and watches: the driver host, and what Airflow runs. The only room that may import airflow."""
