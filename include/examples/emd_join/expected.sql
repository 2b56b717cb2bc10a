-- The Earth Mover's Distance on a line: the differences of the cumulative shares, added up.
SELECT l.id AS left_id, r.id AS right_id, list_sum(list_transform(range(1, 5), lambda bins:
  abs(list_sum(l.light[1:bins]) / list_sum(l.light) - list_sum(r.light[1:bins]) / list_sum(r.light)))) AS distance
FROM (SELECT DISTINCT * FROM 'data/left/*.parquet') AS l, (SELECT DISTINCT * FROM 'data/right/*.parquet') AS r
WHERE l.made_at BETWEEN r.made_at - INTERVAL 2 SECOND AND r.made_at + INTERVAL 2 SECOND AND distance <= 0.19
