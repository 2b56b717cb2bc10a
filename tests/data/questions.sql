-- 1. How much revenue came in each hour?
SELECT sum(amount) AS revenue
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, sum(amount) AS revenue FROM orders GROUP BY w
;

-- 2. How much by country and hour?
SELECT country, sum(amount) AS revenue, count(*) AS number
FROM orders
GROUP BY window(ts, '1 hour'), country
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, country, sum(amount) AS revenue, count(*) AS number FROM orders GROUP BY ALL
;

-- 3. Which countries are unknown? A null is a group of its own, and may be named.
SELECT coalesce(country, 'unknown') AS place, count(*) AS number
FROM orders
GROUP BY window(ts, '1 hour'), coalesce(country, 'unknown')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, coalesce(country, 'unknown') AS place, count(*) AS number FROM orders GROUP BY ALL
;

-- 4. What is the mean value of an order, to the cent?
SELECT round(avg(amount), 2) AS mean
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, round(avg(amount), 2) AS mean FROM orders GROUP BY w
;

-- 5. What is the 95th percentile of latency?
SELECT percentile(latency, 0.95) AS p95
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, quantile_cont(latency, 0.95) AS p95 FROM orders GROUP BY w
;

-- 6. How far is the 99th percentile from the median?
SELECT percentile(latency, 0.99) / median(latency) AS tail
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, quantile_cont(latency, 0.99) / median(latency) AS tail FROM orders GROUP BY w
;

-- 7. How many users did we see each day in Berlin?
-- time zone Europe/Berlin
SELECT count(DISTINCT user) AS users
FROM orders
GROUP BY window(ts, '1 day')
;
-- DuckDB
SELECT berlin_day AS w, count(DISTINCT "user") AS users FROM orders GROUP BY w
;

-- 8. And each month, quarter or year?
-- time zone UTC
SELECT count(DISTINCT user) AS users, sum(amount) AS revenue
FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' QUARTER)
GROUP BY window_start, window_end
;
-- DuckDB
SELECT date_trunc('quarter', ts) AS w, count(DISTINCT "user") AS users, sum(amount) AS revenue FROM orders GROUP BY w
;

-- 9. Open, high, low and close of the price, and the move?
SELECT product, min_by(price, ts) AS open, max(price) AS high, min(price) AS low, max_by(price, ts) AS close,
  close - open AS move
FROM orders
GROUP BY window(ts, '1 hour'), product
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, product, arg_min(price, ts) AS open, max(price) AS high, min(price) AS low, arg_max(price, ts) AS close, close - open AS move FROM orders WHERE true GROUP BY w, product
;

-- 10. By how many per cent did the price move?
SELECT product, round((max_by(price, ts) - min_by(price, ts)) * 100 / min_by(price, ts), 2) AS percent
FROM orders
GROUP BY window(ts, '1 hour'), product
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, product, round((arg_max(price, ts) - arg_min(price, ts)) * 100 / arg_min(price, ts), 2) AS percent FROM orders GROUP BY ALL
;

-- 11. What share of orders is paid?
SELECT round(count(*) FILTER (WHERE status = 'paid') * 100.0 / count(*), 2) AS paid_percent
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, round(count(*) FILTER (WHERE status = 'paid') * 100.0 / count(*), 2) AS paid_percent FROM orders GROUP BY w
;

-- 12. What is the error rate?
SELECT sum(CASE WHEN code >= 500 THEN 1 ELSE 0 END) * 100.0 / count(*) AS errors
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, count_if(code >= 500) * 100.0 / count(*) AS errors FROM orders GROUP BY w
;

-- 13. How many failures, and of which kind?
SELECT count_if(code >= 500) AS server, count_if(code BETWEEN 400 AND 499) AS client
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, count_if(code >= 500) AS server, count_if(code BETWEEN 400 AND 499) AS client FROM orders GROUP BY w
;

-- 14. How much was paid back, 0 where nothing was?
SELECT coalesce(sum(amount) FILTER (WHERE status = 'refund'), 0) AS refunds
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, coalesce(sum(amount) FILTER (WHERE status = 'refund'), 0) AS refunds FROM orders GROUP BY w
;

-- 15. What share of the revenue comes from phones?
SELECT sum(amount) FILTER (WHERE platform = 'phone') / sum(amount) AS share
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, sum(amount) FILTER (WHERE platform = 'phone') / sum(amount) AS share FROM orders GROUP BY w
;

-- 16. What is the mean of an order, over all orders and not over rows of means?
SELECT country, sum(amount) / count(amount) AS mean
FROM orders
GROUP BY window(ts, '1 hour'), country
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, country, avg(amount) AS mean FROM orders GROUP BY ALL
;

-- 17. Small, middle and large orders?
SELECT CASE WHEN amount < 10 THEN 'small' WHEN amount < 50 THEN 'middle' ELSE 'large' END AS size, count(*) AS number
FROM orders
GROUP BY window(ts, '1 hour'), 1
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, CASE WHEN amount < 10 THEN 'small' WHEN amount < 50 THEN 'middle' ELSE 'large' END AS size, count(*) AS number FROM orders GROUP BY ALL
;

-- 18. How are amounts spread, in steps of ten?
SELECT cast(floor(amount / 10) * 10 AS bigint) AS step, count(*) AS number
FROM orders
GROUP BY window(ts, '1 hour'), 1
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, (floor(amount / 10) * 10)::BIGINT AS step, count(*) AS number FROM orders GROUP BY ALL
;

-- 19. Which device does the JSON name?
SELECT get_json_object(payload, '$.device') AS device, count(*) AS number
FROM orders
GROUP BY window(ts, '1 hour'), 1
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, payload::JSON ->> '$.device' AS device, count(*) AS number FROM orders GROUP BY ALL
;

-- 20. How many items, by a number within JSON?
SELECT sum(cast(get_json_object(payload, '$.items') AS int)) AS items
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, sum((payload::JSON ->> '$.items')::INT)::BIGINT AS items FROM orders GROUP BY w
;

-- 21. What is the sum of prices that are written 1.234,50?
SELECT sum(cast(replace(replace(written, '.', ''), ',', '.') AS decimal(12, 2))) AS total
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, sum(replace(replace(written, '.', ''), ',', '.')::DECIMAL(12, 2)) AS total FROM orders GROUP BY w
;

-- 22. How many were due on each date, which is written in three forms?
SELECT coalesce(try_to_date(due, 'dd.MM.yyyy'), try_to_date(due, 'M/d/yyyy'), try_to_date(due, 'yyyy-MM-dd')) AS day, count(*) AS number
FROM orders
GROUP BY window(ts, '1 hour'), 1
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, coalesce(try_strptime(due, '%d.%m.%Y'), try_strptime(due, '%m/%d/%Y'), try_strptime(due, '%Y-%m-%d'))::DATE AS day, count(*) AS number FROM orders GROUP BY ALL
;

-- 23. On which weekday do people order?
SELECT date_format(ts, 'EEE') AS weekday, count(*) AS number
FROM orders
GROUP BY window(ts, '1 hour'), 1
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, strftime(ts, '%a') AS weekday, count(*) AS number FROM orders GROUP BY ALL
;

-- 24. At which hour of the day, in New York?
SELECT hour(from_utc_timestamp(ts, 'America/New_York')) AS hour, count(*) AS number
FROM orders
GROUP BY window(ts, '1 hour'), 1
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, hour(new_york)::INT AS hour, count(*) AS number FROM orders GROUP BY ALL
;

-- 25. How long until an order was sent, in hours?
SELECT avg((unix_micros(sent) - unix_micros(ts)) / 3600000000) AS hours
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, avg((epoch_us(sent) - epoch_us(ts)) / 3600000000) AS hours FROM orders GROUP BY w
;

-- 26. How many orders have no user?
SELECT count(*) - count(user) AS anonymous
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, count(*) - count("user") AS anonymous FROM orders GROUP BY w
;

-- 27. What was each user's last status?
SELECT user, max_by(status, ts) AS status
FROM orders
GROUP BY window(ts, '1 hour'), user
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, "user", arg_max(status, ts) AS status FROM orders GROUP BY ALL
;

-- 28. Where did each user come from first?
SELECT user, min_by(regexp_extract(url, 'source=([a-z]+)', 1), ts) AS source
FROM orders
GROUP BY window(ts, '1 hour'), user
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, "user", arg_min(regexp_extract(url, 'source=([a-z]+)', 1), ts) AS source FROM orders GROUP BY ALL
;

-- 29. Which mail providers do users have?
SELECT lower(split_part(mail, '@', 2)) AS provider, count(DISTINCT user) AS users
FROM orders
GROUP BY window(ts, '1 hour'), 1
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, lower(split_part(mail, '@', 2)) AS provider, count(DISTINCT "user") AS users FROM orders GROUP BY ALL
;

-- 30. Does a user order from several countries?
SELECT user, count(DISTINCT country) > 1 AS moves
FROM orders
GROUP BY window(ts, '1 hour'), user
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, "user", count(DISTINCT country) > 1 AS moves FROM orders GROUP BY ALL
;

-- 31. What do paid orders of shoes bring?
SELECT sum(amount) AS revenue
FROM orders
WHERE status = 'paid' AND lower(product) LIKE '%shoe%'
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, sum(amount) AS revenue FROM orders WHERE status = 'paid' AND lower(product) LIKE '%shoe%' GROUP BY w
;

-- 32. And in some countries, or without one?
SELECT count(*) AS number
FROM orders
WHERE country IN ('DE', 'AT') OR country IS NULL
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, count(*) AS number FROM orders WHERE country IN ('DE', 'AT') OR country IS NULL GROUP BY w
;

-- 33. Which orders differ from what was planned, nulls included?
SELECT count(*) AS number
FROM orders
WHERE country IS DISTINCT FROM planned
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, count(*) AS number FROM orders WHERE country IS DISTINCT FROM planned GROUP BY w
;

-- 34. How much do amounts vary, against their mean?
SELECT stddev(amount) / avg(amount) AS variation
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, CASE WHEN count(amount) > 1 THEN stddev(amount) / avg(amount) END AS variation FROM orders GROUP BY w
;

-- 35. What is the range of latency?
SELECT max(latency) - min(latency) AS spread
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, max(latency) - min(latency) AS spread FROM orders GROUP BY w
;

-- 36. What is the moving average of the last hour, every 15 minutes?
SELECT avg(latency) AS mean
FROM orders
GROUP BY window(ts, '1 hour', '15 minutes')
;
-- DuckDB
SELECT w, avg(latency) AS mean FROM (SELECT *, time_bucket(INTERVAL '15 minutes', ts) - INTERVAL (15 * n) MINUTES AS w FROM orders, range(4) AS r(n)) GROUP BY w
;

-- 37. Which three orders of each country are the largest?
SELECT *
FROM (SELECT amount, product, row_number() OVER (PARTITION BY window_start, window_end, country ORDER BY amount DESC) AS rank
  FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' HOUR))
WHERE rank <= 3
;
-- DuckDB
SELECT * FROM (SELECT time_bucket(INTERVAL '1 hour', ts) AS w, country, row_number() OVER (PARTITION BY time_bucket(INTERVAL '1 hour', ts), country ORDER BY amount DESC) AS rank, amount AS score, product FROM orders) WHERE rank <= 3
;

-- 38. Which order is the newest of each user?
SELECT *
FROM (SELECT status, row_number() OVER (PARTITION BY window_start, window_end, user ORDER BY ts DESC) AS rank
  FROM TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' HOUR))
WHERE rank = 1
;
-- DuckDB
SELECT * FROM (SELECT time_bucket(INTERVAL '1 hour', ts) AS w, "user", row_number() OVER (PARTITION BY time_bucket(INTERVAL '1 hour', ts), "user" ORDER BY ts DESC) AS rank, status FROM orders) WHERE rank = 1
;

-- 39. Do new users order more, or for more?
SELECT cast(is_new AS boolean) AS newcomer, count(*) AS number, avg(amount) AS mean
FROM orders
GROUP BY window(ts, '1 hour'), 1
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, is_new AS newcomer, count(*) AS number, avg(amount) AS mean FROM orders GROUP BY ALL
;

-- 40. How many tags does an order have?
SELECT sum(size(split(tags, ','))) AS tags, count_if(array_contains(split(tags, ','), 'gift')) AS gifts
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, sum(len(string_split(tags, ',')))::BIGINT AS tags, count_if(list_contains(string_split(tags, ','), 'gift')) AS gifts FROM orders GROUP BY w
;

-- 41. What is the net revenue, exactly?
SELECT sum(cast(amount AS decimal(12, 2))) AS gross, sum(cast(cast(amount AS decimal(12, 2)) / 1.19 AS decimal(12, 2))) AS net
FROM orders
GROUP BY window(ts, '1 hour')
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, (sum(cents) / 100)::DECIMAL(38, 2) AS gross, (sum(net_cents) / 100)::DECIMAL(38, 2) AS net FROM orders GROUP BY w
;

-- 42. When did the last order come?
SELECT country, max(cast(ts AS timestamp)) AS latest
FROM orders
GROUP BY window(ts, '1 hour'), country
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, country, max(ts) AS latest FROM orders GROUP BY ALL
;

-- 43. In which countries do orders fail too often?
SELECT country, count(*) AS number, count_if(code >= 500) AS failures
FROM orders
GROUP BY window(ts, '1 hour'), country
HAVING count_if(code >= 500) * 10 > count(*)
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, country, count(*) AS number, count_if(code >= 500) AS failures FROM orders GROUP BY ALL HAVING failures * 10 > number
;

-- 44. Which product was in the largest order, who paid the least, and has each order a user?
SELECT country, max_by(product, amount) AS product, min_by(user, price * 2) AS saver, bool_and(user IS NOT NULL) AS known
FROM orders
GROUP BY window(ts, '1 hour'), country
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, country, arg_max_null(product, row(amount, ts)) AS product, arg_min_null("user", row(price, ts)) AS saver, bool_and("user" IS NOT NULL) AS known FROM orders GROUP BY ALL
;

-- 45. Which statuses did each user's orders have, and do amounts go with latency?
SELECT user, collect_set(status) AS statuses, round(corr(amount, latency), 6) AS fit, sum(DISTINCT code) AS codes
FROM orders
GROUP BY window(ts, '1 hour'), user
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, "user", list(DISTINCT status ORDER BY status) AS statuses, round(CASE WHEN count(*) > 1 THEN corr(amount, latency) END, 6) AS fit, sum(DISTINCT code)::BIGINT AS codes FROM orders GROUP BY ALL
;

-- 46. Which visits does each user make, without a pause of more than 20 minutes: how long, of how many orders and products?
SELECT user, unix_seconds(max(ts)) - unix_seconds(min(ts)) AS seconds, count(*) AS number, count(DISTINCT product) AS products
FROM orders
GROUP BY session_window(ts, '20 minutes'), user
;
-- DuckDB
SELECT date_trunc('milliseconds', min(ts)) AS w, "user", epoch(max(ts))::BIGINT - epoch(min(ts))::BIGINT AS seconds, count(*) AS number, count(DISTINCT product) AS products FROM (SELECT *, count(*) FILTER (WHERE pause) OVER (PARTITION BY "user" ORDER BY ts) AS visit FROM (SELECT *, ts > lag(ts) OVER (PARTITION BY "user" ORDER BY ts) + INTERVAL '20 minutes' AS pause FROM orders)) GROUP BY "user", visit
;

-- 47. Which visits have at least three orders, and with which page and status do they begin and end?
SELECT user, count(*) AS number, min_by(url, ts) AS entry, max_by(status, ts) AS outcome
FROM SESSION(TABLE orders PARTITION BY user, DESCRIPTOR(ts), INTERVAL '20' MINUTES)
WHERE user IS NOT NULL
GROUP BY window_start, window_end, user
HAVING count(*) >= 3
;
-- DuckDB
SELECT date_trunc('milliseconds', min(ts)) AS w, "user", count(*) AS number, arg_min(url, ts) AS entry, arg_max(status, ts) AS outcome FROM (SELECT *, count(*) FILTER (WHERE pause) OVER (PARTITION BY "user" ORDER BY ts) AS visit FROM (SELECT *, ts > lag(ts) OVER (PARTITION BY "user" ORDER BY ts) + INTERVAL '20 minutes' AS pause FROM orders WHERE "user" IS NOT NULL)) GROUP BY "user", visit HAVING count(*) >= 3
;

-- 48. Between which latencies is the middle half of each country's orders, in one list with the median?
SELECT country, array(percentile(latency, 0.25), median(latency), percentile(latency, 0.75)) AS quartiles
FROM orders
GROUP BY window(ts, '1 hour'), country
;
-- DuckDB
SELECT time_bucket(INTERVAL '1 hour', ts) AS w, country, [quantile_cont(latency, 0.25), median(latency), quantile_cont(latency, 0.75)] AS quartiles FROM orders GROUP BY ALL
;
