"""An embedded Airflow, driver host and Spark cluster on one machine, for `tailrace serve`, the demo and tests."""
