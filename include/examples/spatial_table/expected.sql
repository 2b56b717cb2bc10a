-- Each zone is a square, of which the corners decide.
WITH zones AS (
  SELECT feature.properties.zone AS zone,
    list_transform(feature.geometry.coordinates[1], lambda corner: corner[1]) AS x,
    list_transform(feature.geometry.coordinates[1], lambda corner: corner[2]) AS y
  FROM (SELECT unnest(features) AS feature FROM read_json('zones.geojson'))
)
SELECT p.id::TEXT AS left_id, zone AS right_id
FROM (SELECT DISTINCT * FROM 'data/*.csv') AS p, zones AS z
WHERE p.x > list_min(z.x) AND p.x < list_max(z.x) AND p.y > list_min(z.y) AND p.y < list_max(z.y)
