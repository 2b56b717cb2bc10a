"""Checks the rights for pages: a query's page needs the right to its stream's DAG, by Airflow's auth manager."""

from __future__ import annotations

from collections.abc import Iterable

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.base_auth_manager import ResourceMethod
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models import DagModel
from fastapi import HTTPException

from tailrace.orchestration.links import DAG_PREFIX

RECORDS = DagAccessEntity.TASK_LOGS
"""The additional right for raw records: the right to task logs, which also quote records."""


def may(user: BaseUser, method: ResourceMethod, dag_id: str, entity: DagAccessEntity | None = None) -> bool:
    """Test whether a user has a right to a DAG, or to a part of it."""
    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    return get_auth_manager().is_authorized_dag(method=method, access_entity=entity, details=details, user=user)


def may_list(user: BaseUser) -> bool:
    """Test whether a user may list DAGs, and so read the faults of query files."""
    return get_auth_manager().is_authorized_dag(method="GET", user=user)


def readable(names: Iterable[str], user: BaseUser) -> list[str]:
    """Select the queries whose pages a user may read."""
    dags = {DAG_PREFIX + name: name for name in names}
    return [dags[dag] for dag in readable_dags(dags, user)]


def readable_dags(dags: Iterable[str], user: BaseUser, entity: DagAccessEntity | None = None) -> list[str]:
    """Select the DAGs that a user may read, at least in part."""
    dag_ids = list(dags)
    teams = DagModel.get_dag_id_to_team_name_mapping(dag_ids)
    manager = get_auth_manager()
    return [
        dag
        for dag in dag_ids
        if manager.is_authorized_dag(
            method="GET", access_entity=entity, details=DagDetails(id=dag, team_name=teams.get(dag)), user=user
        )
    ]


def require_page(name: str, user: GetUserDep) -> None:
    """Refuse a user who may not read the pages of the query in the path; a dependency of routes."""
    if not may(user, "GET", DAG_PREFIX + name):
        raise HTTPException(403, f"this needs the right to read the DAG {DAG_PREFIX}{name}")


def require_records(name: str, user: GetUserDep) -> None:
    """Refuse a user who may not see raw records of the query in the path; a dependency of routes."""
    require_page(name, user)
    if not may(user, "GET", DAG_PREFIX + name, RECORDS):
        raise HTTPException(403, f"this shows records, and needs the right to read task logs of {DAG_PREFIX}{name}")
