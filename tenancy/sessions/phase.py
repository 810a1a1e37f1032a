"""Computes the status of a session from its Job and the Job's pod.

This module handles only sessions that have a Job. `start_order` decides which sessions get a Job.
"""

from datetime import UTC, datetime

from tenancy.base.manifest import Manifest, is_deleting
from tenancy.sessions.job import CONTAINER, selected_model
from tenancy.sessions.results import results_from_message
from tenancy.spec.aisession import (
    AISessionSpec,
    AISessionStatus,
    SessionMetrics,
    SessionPhase,
    SessionReason,
    SessionResults,
    duration_text,
)


def time_text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_finished(job: Manifest) -> bool:
    return _final_condition(job) is not None


def is_pod_done(pod: Manifest) -> bool:
    """Whether the pod has succeeded or failed."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def status_from_job(
    previous: AISessionStatus, spec: AISessionSpec, job: Manifest, pod: Manifest | None
) -> AISessionStatus:
    """The new status of the session.

    `previous` is the session's current status. `pod` is the pod of the Job. It is None if the pod does not
    exist yet or no longer exists.
    """
    final_condition = _final_condition(job)
    if final_condition is None:
        return _unfinished_status(previous, job, pod)
    phase, reason, message = _outcome(previous, spec, job, final_condition, pod)
    job_status = job.get("status") or {}
    completed = job_status.get("completionTime") or final_condition.get("lastTransitionTime")
    started = previous.start_time or _start_time(pod) or job_status.get("startTime")
    if reason == SessionReason.DEADLINE_EXCEEDED and not _has_run(previous, pod):
        started = None
    return with_execution_time(
        AISessionStatus(
            phase=phase,
            reason=reason,
            message=message,
            job=job["metadata"]["name"],
            ai_model=selected_model(job),
            start_time=started,
            completion_time=completed,
            results=_results(pod) or previous.results,
        )
    )


def with_execution_time(status: AISessionStatus) -> AISessionStatus:
    """A copy of the status with `results.metrics.executionTime`.

    Returns the status unchanged if the start time or the completion time is not set.
    """
    if not status.start_time or not status.completion_time:
        return status
    # The two times come from different clocks. Do not report a completion time before the start time.
    completed = max(status.completion_time, status.start_time, key=_parsed_time)
    duration = _parsed_time(completed) - _parsed_time(status.start_time)
    results = status.results or SessionResults()
    tokens_used = results.metrics.tokens_used if results.metrics else None
    metrics = SessionMetrics(
        tokens_used=tokens_used, execution_time=duration_text(int(duration.total_seconds()))
    )
    results = results.model_copy(update={"metrics": metrics})
    return status.model_copy(update={"completion_time": completed, "results": results})


def _final_condition(job: Manifest) -> Manifest | None:
    """The Job's Complete or Failed condition, or None if the Job has not finished."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    for condition in conditions:
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            final: Manifest = condition
            return final
    return None


def _outcome(
    previous: AISessionStatus,
    spec: AISessionSpec,
    job: Manifest,
    final_condition: Manifest,
    pod: Manifest | None,
) -> tuple[SessionPhase, str | None, str | None]:
    if final_condition["type"] == "Complete":
        return SessionPhase.COMPLETED, None, None
    if final_condition.get("reason") == SessionReason.DEADLINE_EXCEEDED:
        delay = previous.reason or SessionReason.STARTING
        problem = "did not finish" if _has_run(previous, pod) else f"did not start ({delay})"
        message = f"the session {problem} within its timeout of {spec.timeout}"
        return SessionPhase.TERMINATED, SessionReason.DEADLINE_EXCEEDED, message
    pod_status = (pod or {}).get("status") or {}
    if pod_status.get("reason"):
        return SessionPhase.FAILED, pod_status["reason"], pod_status.get("message")
    if terminated := _terminated(pod):
        message = f"the container failed with exit code {terminated.get('exitCode')}"
        message = f"{message}; to read its log: {_log_command(job)}"
        return SessionPhase.FAILED, terminated.get("reason") or "Error", message
    pod_gone = "the pod no longer exists, so its result is lost; the pod may have been deleted"
    reason = final_condition.get("reason") or "JobFailed"
    return SessionPhase.FAILED, reason, final_condition.get("message") if pod else pod_gone


def _log_command(job: Manifest) -> str:
    return f"kubectl logs -n {job['metadata']['namespace']} job/{job['metadata']['name']}"


def _unfinished_status(previous: AISessionStatus, job: Manifest, pod: Manifest | None) -> AISessionStatus:
    name, model = job["metadata"]["name"], selected_model(job)
    pod_phase = ((pod or {}).get("status") or {}).get("phase")
    # Once the phase is Running, it stays Running until the Job has finished. It never becomes Pending again.
    if previous.phase is SessionPhase.RUNNING or pod_phase in ("Running", "Succeeded", "Failed"):
        started = previous.start_time or _start_time(pod)
        # Store the result of a pod that is being deleted now, for example after a timeout. The pod may no
        # longer exist when the Job finishes.
        is_terminating = is_deleting(pod)
        results = (_results(pod) if is_terminating else None) or previous.results
        return AISessionStatus(
            phase=SessionPhase.RUNNING, job=name, ai_model=model, start_time=started, results=results
        )
    # If the pod no longer exists and never ran, keep the last known reason.
    keeps_reason = pod is None and previous.job == name
    reason, message = (previous.reason, previous.message) if keeps_reason else _start_delay(pod)
    return AISessionStatus(
        phase=SessionPhase.PENDING, reason=reason, message=message, job=name, ai_model=model
    )


def _start_delay(pod: Manifest | None) -> tuple[str, str | None]:
    """The reason why the pod does not run yet, and a message about the reason from the pod's status.

    The message is None if the pod's status contains none.
    """
    status = (pod or {}).get("status") or {}
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return condition.get("reason") or SessionReason.STARTING, condition.get("message")
    waiting = (_container_state(pod).get("waiting")) or {}
    if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        return waiting["reason"], waiting.get("message")
    return SessionReason.STARTING, None


def _has_run(previous: AISessionStatus, pod: Manifest | None) -> bool:
    state = _container_state(pod)
    return previous.phase is SessionPhase.RUNNING or bool(state.get("running") or state.get("terminated"))


def _start_time(pod: Manifest | None) -> str | None:
    state = _container_state(pod)
    times = [(state.get(name) or {}).get("startedAt") for name in ("running", "terminated")]
    started_at: str | None = next((time for time in times if time), None)
    return started_at or ((pod or {}).get("status") or {}).get("startTime")


def _results(pod: Manifest | None) -> SessionResults | None:
    return results_from_message(_terminated(pod).get("message") or "")


def _terminated(pod: Manifest | None) -> Manifest:
    state: Manifest = _container_state(pod).get("terminated") or {}
    return state


def _container_state(pod: Manifest | None) -> Manifest:
    # The pod may have other containers, such as the sidecar of a service mesh.
    for container in ((pod or {}).get("status") or {}).get("containerStatuses") or ():
        if container["name"] == CONTAINER:
            state: Manifest = container.get("state") or {}
            return state
    return {}


def _parsed_time(text: str) -> datetime:
    return datetime.fromisoformat(text)
