SELECT l.id::TEXT AS left_id, r.id::TEXT AS right_id, sqrt((l.x - r.x) ** 2 + (l.y - r.y) ** 2) AS distance
FROM (SELECT DISTINCT * FROM 'data/couriers/*.csv') AS l, (SELECT DISTINCT * FROM 'data/parcels/*.csv') AS r
WHERE r.made_at BETWEEN l.made_at - INTERVAL 5 MINUTE AND l.made_at + INTERVAL 1 MINUTE AND distance <= 100
