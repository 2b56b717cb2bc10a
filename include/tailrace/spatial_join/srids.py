"""The coordinate systems that geometries declare themselves, by the SRID in their extended WKB (EWKB)."""

from __future__ import annotations

import numpy as np
import shapely

from tailrace.ground.errors import refuse
from tailrace.spatial_join.geometries import Shapes

_UNKNOWN, _WGS_84 = 0, 4326


def require_srid(where: str, shapes: Shapes, degrees: bool) -> None:
    """Refuse geometries whose coordinate system differs from the stream's.

    For longitude and latitude, SRID 4326 and none (0) are accepted; in a plane any SRID that all geometries share.

    Raises
    ------
    Refused
    """
    present = np.unique(shapely.get_srid(shapes[~shapely.is_missing(shapes)])).tolist()
    if degrees and (wrong := [srid for srid in present if srid not in (_UNKNOWN, _WGS_84)]):
        fault = f"it has geometries of the SRID {wrong[0]}, and coordinates are longitude and latitude"
        remedy = f"SRID {_WGS_84}, as a view has it by ST_Transform(…, {_WGS_84}); or crs: planar"
        raise refuse(where, fault, remedy)
    if len(present) > 1 and not degrees:
        fault = f"it has geometries of the SRIDs {', '.join(map(str, present))}, whose planes differ"
        raise refuse(where, fault, "one SRID, as a view has it by ST_Transform")
