"""Words in column names that show which part of a query a column may be."""

from __future__ import annotations

import re

ARRIVAL = r"arriv|receiv|ingest|insert|loaded|process|stored|logged|append|kafka|collected|empfang|eingang|actual"
EVENT = r"event|happen|occur|creat|measur|observ|scheduled|sent|order|pickup|start"
TIME = r"time|date|stamp|\bts\b|_ts|ts_|\bt\b|zeit|datum|_at\b|epoch"
OTHER_TIME = r"end|due|until|deadline|birth|valid|expir|updat|modif"
ID = r"\bid\b|_id\b|\bid_|uuid|guid|\bnr\b|number|\bno\b|_no\b|code|ref|\bseq|offset|Id\b"
VALUE = r"value|amount|price|temp|speed|delay|total|load|size|score|rate|level|count|cost|revenue|distance|latency"
VALUE += r"|paid|fee|fare|turnover|betrag|preis|umsatz"
PLACE = r"\blat|\blon|longitude|latitude|\bx\b|\by\b|year|month|day|hour|code|zip|port"
MONEY = r"price|amount|cost|paid|total|revenue|turnover|\bfee|_fee|fare|\btax|_tax|betrag|preis|umsatz"
MEASURE = r"temp|speed|delay|score|rate|level|distance|latency|humid|pressure|weight|percent|ratio|degree|second|_ms\b"
"""Words for numbers that are no money, even if all have two digits after the point."""
IDENTITY = (
    r"key|sensor|device|user|customer|client|country|city|station|host|name|symbol|carrier|airline|\bline|machine"
)
IDENTITY += r"|region|platform|product|vehicle|taxi|_id\b|Id\b|\bid\b|shop|\bstore|_store|branch|merchant|seller"
IDENTITY += r"|vendor|supplier|account|person|employee|member|driver|player|patient|\bmeter\b|_meter\b|room"
IDENTITY += r"|\bsite|_site|\bzone|_zone|district|location|terminal|warehouse|truck|flight|plant|asset|server"
IDENTITY += r"|\barticle\b|\bitem\b|\bsku|stadt|filiale|kunde"
CATEGORY = r"type|categor|group|kind|class|status|method|payment|\bpay\b|\bpaid|mode\b|level|tier|channel|currency"
CATEGORY += r"|gender|reason|result|priority|flag|colou?r"


def has_name(name: str, words: str) -> bool:
    """Test whether a column's name has one of the words."""
    separated = re.sub(r"[^A-Za-z0-9]+", "_", name)
    spaced = separated.replace("_", " ")
    return any(re.search(words, text, re.IGNORECASE) is not None for text in (separated, spaced))
