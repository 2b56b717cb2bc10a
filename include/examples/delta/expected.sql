SELECT sensor AS key, time_bucket(INTERVAL 5 MINUTE, made_at) - shift * INTERVAL 5 MINUTE AS window_start,
  quantile_cont(celsius, 0.9) AS value
FROM (SELECT DISTINCT * FROM 'data/*.parquet'), (VALUES (0), (1)) AS windows(shift)
GROUP BY ALL
