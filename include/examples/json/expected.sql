SELECT
  country,
  time_bucket(INTERVAL 5 MINUTE, made_at::TIMESTAMPTZ) - shift * INTERVAL 5 MINUTE AS window_start,
  sum(amount::DOUBLE) AS revenue,
  count(*) AS payments,
  avg(amount::DOUBLE) AS mean
FROM (SELECT DISTINCT * FROM read_json('data/*.json')), (VALUES (0), (1)) AS windows(shift)
WHERE status = 'paid'
GROUP BY ALL
