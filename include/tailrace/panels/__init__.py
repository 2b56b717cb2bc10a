"""The data of a query's pages and plots, read from its tables as plain values. No Spark, no Airflow."""
