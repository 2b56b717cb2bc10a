"""An auth manager for tests: Airflow's simple one, and two users whose rights depend on the DAG, or leave logs out."""

from __future__ import annotations

from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

WITHOUT_LOGS = "without_logs"
"""A user who may do what `user` may, but reads no task logs."""

ONLY_SPEEDS = "only_speeds"
"""A user who may do what `user` may, to the DAGs of the query `speeds` alone."""


class RightsByUser(SimpleAuthManager):
    """Refuses some rights by the user's name."""

    def is_authorized_dag(
        self,
        *,
        method: ResourceMethod,
        user: SimpleAuthManagerUser,
        access_entity: DagAccessEntity | None = None,
        details: DagDetails | None = None,
    ) -> bool:
        if user.username == WITHOUT_LOGS and access_entity is DagAccessEntity.TASK_LOGS:
            return False
        if user.username == ONLY_SPEEDS and not (details and (details.id or "").endswith("_speeds")):
            return False
        return super().is_authorized_dag(method=method, user=user, access_entity=access_entity, details=details)
