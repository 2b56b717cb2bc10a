SELECT page, time_bucket(INTERVAL 5 MINUTE, made_at) - shift * INTERVAL 5 MINUTE AS window_start,
  count(*) AS visits, count(DISTINCT user) AS visitors
FROM (SELECT DISTINCT * FROM 'data/*.csv'), (VALUES (0), (1)) AS windows(shift)
GROUP BY ALL
