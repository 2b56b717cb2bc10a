SELECT symbol AS key, time_bucket(INTERVAL 5 MINUTE, made_at) AS window_start, id, amount AS score,
  row_number() OVER (PARTITION BY key, window_start ORDER BY amount DESC, id) AS rank
FROM (SELECT DISTINCT * FROM 'data/*.parquet')
QUALIFY rank <= 3
