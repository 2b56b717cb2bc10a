-- In March, Berlin is an hour ahead of UTC.
SELECT shop AS key, date_trunc('hour', made_at) - INTERVAL 1 HOUR AS window_start, sum(amount) AS value
FROM (SELECT DISTINCT * FROM 'data/*.csv')
GROUP BY ALL
