"""Arrow tables as pandas frames that tell texts apart as Arrow does."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

_TEXT = {kind: pd.ArrowDtype(kind) for kind in (pa.string(), pa.large_string())}


def frame(rows: pa.Table | pa.RecordBatch) -> pd.DataFrame:
    """The rows in pandas. A column of text stays Arrow's; one of nulls alone, as the keys without a key, holds None.

    Of its own texts pandas hashes what comes before the first NUL: group-bys, `duplicated` and `drop_duplicates` take
    'a' and 'a\\0b' for one. Of Arrow's, Arrow does.
    """
    for place, field in enumerate(rows.schema):
        if field.type in _TEXT and 0 < len(rows) == rows.column(place).null_count:
            rows = rows.set_column(place, field.name, pa.nulls(len(rows)))
    return rows.to_pandas(types_mapper=_TEXT.get)
