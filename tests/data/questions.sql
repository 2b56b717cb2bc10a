-- 1
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, sum(amount) AS revenue FROM orders GROUP BY w;

-- 2
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, country, sum(amount) AS revenue, count(*) AS number FROM orders GROUP BY ALL;

-- 3
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, coalesce(country, 'unknown') AS place, count(*) AS number FROM orders GROUP BY ALL;

-- 4
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, round(avg(amount), 2) AS mean FROM orders GROUP BY w;

-- 5
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, quantile_cont(latency, 0.95) AS p95 FROM orders GROUP BY w;

-- 6
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, quantile_cont(latency, 0.99) / median(latency) AS tail FROM orders GROUP BY w;

-- 7
SELECT berlin_day AS w, count(DISTINCT "user") AS users FROM orders GROUP BY w;

-- 8
SELECT date_trunc('quarter', moment) AS w, count(DISTINCT "user") AS users, sum(amount) AS revenue FROM orders GROUP BY w;

-- 9
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, product, arg_min(price, moment) AS open, max(price) AS high, min(price) AS low, arg_max(price, moment) AS close, close - open AS move FROM orders WHERE true GROUP BY w, product;

-- 10
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, product, round((arg_max(price, moment) - arg_min(price, moment)) * 100 / arg_min(price, moment), 2) AS percent FROM orders GROUP BY ALL;

-- 11
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, round(count(*) FILTER (WHERE status = 'paid') * 100.0 / count(*), 2) AS paid_percent FROM orders GROUP BY w;

-- 12
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, count_if(code >= 500) * 100.0 / count(*) AS errors FROM orders GROUP BY w;

-- 13
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, count_if(code >= 500) AS server, count_if(code BETWEEN 400 AND 499) AS client FROM orders GROUP BY w;

-- 14
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, coalesce(sum(amount) FILTER (WHERE status = 'refund'), 0) AS refunds FROM orders GROUP BY w;

-- 15
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, sum(amount) FILTER (WHERE platform = 'phone') / sum(amount) AS share FROM orders GROUP BY w;

-- 16
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, country, avg(amount) AS mean FROM orders GROUP BY ALL;

-- 17
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, CASE WHEN amount < 10 THEN 'small' WHEN amount < 50 THEN 'middle' ELSE 'large' END AS size, count(*) AS number FROM orders GROUP BY ALL;

-- 18
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, (floor(amount / 10) * 10)::BIGINT AS step, count(*) AS number FROM orders GROUP BY ALL;

-- 19
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, payload::JSON ->> '$.device' AS device, count(*) AS number FROM orders GROUP BY ALL;

-- 20
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, sum((payload::JSON ->> '$.items')::INT)::BIGINT AS items FROM orders GROUP BY w;

-- 21
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, sum(replace(replace(written, '.', ''), ',', '.')::DECIMAL(12, 2)) AS total FROM orders GROUP BY w;

-- 22
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, coalesce(try_strptime(due, '%d.%m.%Y'), try_strptime(due, '%m/%d/%Y'), try_strptime(due, '%Y-%m-%d'))::DATE AS day, count(*) AS number FROM orders GROUP BY ALL;

-- 23
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, strftime(moment, '%a') AS weekday, count(*) AS number FROM orders GROUP BY ALL;

-- 24
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, hour(new_york)::INT AS hour, count(*) AS number FROM orders GROUP BY ALL;

-- 25
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, avg((epoch_us(sent) - epoch_us(moment)) / 3600000000) AS hours FROM orders GROUP BY w;

-- 26
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, count(*) - count("user") AS anonymous FROM orders GROUP BY w;

-- 27
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, "user", arg_max(status, moment) AS status FROM orders GROUP BY ALL;

-- 28
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, "user", arg_min(regexp_extract(url, 'source=([a-z]+)', 1), moment) AS source FROM orders GROUP BY ALL;

-- 29
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, lower(split_part(mail, '@', 2)) AS provider, count(DISTINCT "user") AS users FROM orders GROUP BY ALL;

-- 30
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, "user", count(DISTINCT country) > 1 AS moves FROM orders GROUP BY ALL;

-- 31
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, sum(amount) AS revenue FROM orders WHERE status = 'paid' AND lower(product) LIKE '%shoe%' GROUP BY w;

-- 32
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, count(*) AS number FROM orders WHERE country IN ('DE', 'AT') OR country IS NULL GROUP BY w;

-- 33
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, count(*) AS number FROM orders WHERE country IS DISTINCT FROM planned GROUP BY w;

-- 34
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, CASE WHEN count(amount) > 1 THEN stddev(amount) / avg(amount) END AS variation FROM orders GROUP BY w;

-- 35
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, max(latency) - min(latency) AS spread FROM orders GROUP BY w;

-- 36
SELECT w, avg(latency) AS mean FROM (SELECT *, time_bucket(INTERVAL '15 minutes', moment) - INTERVAL (15 * n) MINUTES AS w FROM orders, range(4) AS r(n)) GROUP BY w;

-- 37
SELECT * FROM (SELECT time_bucket(INTERVAL '1 hour', moment) AS w, country, row_number() OVER (PARTITION BY time_bucket(INTERVAL '1 hour', moment), country ORDER BY amount DESC) AS rank, amount AS score, product FROM orders) WHERE rank <= 3;

-- 38
SELECT * FROM (SELECT time_bucket(INTERVAL '1 hour', moment) AS w, "user", row_number() OVER (PARTITION BY time_bucket(INTERVAL '1 hour', moment), "user" ORDER BY moment DESC) AS rank, status FROM orders) WHERE rank = 1;

-- 39
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, is_new AS newcomer, count(*) AS number, avg(amount) AS mean FROM orders GROUP BY ALL;

-- 40
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, sum(len(string_split(tags, ',')))::BIGINT AS tags, count_if(list_contains(string_split(tags, ','), 'gift')) AS gifts FROM orders GROUP BY w;

-- 41
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, (sum(cents) / 100)::DECIMAL(38, 2) AS gross, (sum(net_cents) / 100)::DECIMAL(38, 2) AS net FROM orders GROUP BY w;

-- 42
SELECT time_bucket(INTERVAL '1 hour', moment) AS w, country, max(moment) AS latest FROM orders GROUP BY ALL;
