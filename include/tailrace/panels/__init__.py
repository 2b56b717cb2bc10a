"""What the pages and plots of a query show, read from its tables as plain data. No Spark, no Airflow."""
