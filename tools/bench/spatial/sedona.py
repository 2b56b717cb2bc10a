"""The peer Apache Sedona: its broadcast join of points with polygons, on its own Spark, into Parquet files.

It does less than ours, which makes each batch durable and counts its input: it is one job over all points.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from bench.peer_process import PeerProcess
from bench.spatial.sedona_environment import LOOPBACK, SedonaEnvironment

_SEDONA = {
    "spark.sql.extensions": "org.apache.sedona.sql.SedonaSqlExtensions",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.sedona.core.serde.SedonaKryoRegistrator",
}
_SPARK = {
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}


class Sedona(PeerProcess):
    """Sedona in a process of its own.

    Parameters
    ----------
    environment : SedonaEnvironment
        Installed already.
    directory : Path
        Directory of its log.
    """

    def __init__(self, environment: SedonaEnvironment, directory: Path) -> None:
        command = environment.command(Path(__file__).with_name("sedona_job.py"))
        super().__init__(environment.peer.name, command, environment.variables(), directory / "sedona.log")
        self._settings = _SEDONA | _SPARK | {"spark.jars": ",".join(map(str, environment.jars))}

    def start(self, cores: int) -> float:
        """Start its Spark on `cores` cores, once and before any pass; return the seconds that this takes."""
        settings = self._settings | {"spark.master": f"local[{cores}]"}
        return float(self.submit({"settings": settings})["start_s"])

    def run(self, points: Path, polygons: Path, answers: Path) -> float:
        """Join points with the polygons that contain them, from Parquet files into new ones; return the seconds.

        Parameters
        ----------
        points : Path
            Has the columns `id`, `event_time`, `lon` and `lat`.
        polygons : Path
            Has the columns `id` and `geometry`, WKB.
        """
        return float(self.submit({"points": str(points), "polygons": str(polygons), "answers": str(answers)})["job_s"])


def answers(directory: Path) -> pa.Table:
    """Read the pairs of a pass."""
    return ds.dataset(directory, format="parquet").to_table()
