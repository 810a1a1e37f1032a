"""The status of a session that has a Job: read from the Job and its pod.

Called by the watcher at each change of them. Sessions that wait are judged in `waiting_line`.
"""

from datetime import UTC, datetime

from tenancy.base.manifest import Manifest
from tenancy.sessions.job import CONTAINER
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
    return _ending(job) is not None


def is_pod_done(pod: Manifest) -> bool:
    """Whether the pod has nothing more to say."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def status_from_job(
    before: AISessionStatus, spec: AISessionSpec, job: Manifest, pod: Manifest | None
) -> AISessionStatus:
    """`pod` is the Job's; None: it has none yet, or none any more."""
    ending = _ending(job)
    if ending is None:
        return _under_way(before, job, pod)
    phase, reason, message = _verdict(before, spec, job, ending, pod)
    job_status = job.get("status") or {}
    completed = job_status.get("completionTime") or ending.get("lastTransitionTime")
    started = before.start_time or _started(pod) or job_status.get("startTime")
    if reason == SessionReason.DEADLINE_EXCEEDED and not _has_run(before, pod):
        started = None
    return ended(
        AISessionStatus(
            phase=phase,
            reason=reason,
            message=message,
            job=job["metadata"]["name"],
            start_time=started,
            completion_time=completed,
            results=_results(pod) or before.results,
        )
    )


def ended(status: AISessionStatus) -> AISessionStatus:
    """The status with the time that the session took."""
    if not status.start_time or not status.completion_time:
        return status
    # Told by different clocks: nothing ends before it began.
    completed = max(status.completion_time, status.start_time, key=_moment)
    took = _moment(completed) - _moment(status.start_time)
    results = status.results or SessionResults()
    tokens_used = results.metrics.tokens_used if results.metrics else None
    metrics = SessionMetrics(tokens_used=tokens_used, execution_time=duration_text(int(took.total_seconds())))
    results = results.model_copy(update={"metrics": metrics})
    return status.model_copy(update={"completion_time": completed, "results": results})


def _ending(job: Manifest) -> Manifest | None:
    """The Job's last condition, once there is nothing more to come."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    for condition in conditions:
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            found: Manifest = condition
            return found
    return None


def _verdict(
    before: AISessionStatus, spec: AISessionSpec, job: Manifest, ending: Manifest, pod: Manifest | None
) -> tuple[SessionPhase, str | None, str | None]:
    if ending["type"] == "Complete":
        return SessionPhase.COMPLETED, None, None
    if ending.get("reason") == SessionReason.DEADLINE_EXCEEDED:
        delay = before.reason or SessionReason.STARTING
        told = "did not end by itself" if _has_run(before, pod) else f"did not get to run ({delay})"
        told = f"it {told} within its timeout of {spec.timeout}"
        return SessionPhase.TERMINATED, SessionReason.DEADLINE_EXCEEDED, told
    pod_status = (pod or {}).get("status") or {}
    if pod_status.get("reason"):
        return SessionPhase.FAILED, pod_status["reason"], pod_status.get("message")
    if terminated := _terminated(pod):
        told = f"the container ended with exit code {terminated.get('exitCode')}"
        told = f"{told}; for its log: {_log_command(job)}"
        return SessionPhase.FAILED, terminated.get("reason") or "Error", told
    gone = "its pod is gone, and with it what it said: was it deleted?"
    return SessionPhase.FAILED, ending.get("reason") or "JobFailed", ending.get("message") if pod else gone


def _log_command(job: Manifest) -> str:
    return f"kubectl logs -n {job['metadata']['namespace']} job/{job['metadata']['name']}"


def _under_way(before: AISessionStatus, job: Manifest, pod: Manifest | None) -> AISessionStatus:
    name = job["metadata"]["name"]
    pod_phase = ((pod or {}).get("status") or {}).get("phase")
    # It never goes back: what has run once is Running until the Job says how it ended.
    if before.phase is SessionPhase.RUNNING or pod_phase in ("Running", "Succeeded", "Failed"):
        started = before.start_time or _started(pod)
        # A pod that is deleted, as at a timeout, is gone when its Job tells of the end.
        is_going = "deletionTimestamp" in (pod or {}).get("metadata", {})
        results = (_results(pod) if is_going else None) or before.results
        return AISessionStatus(phase=SessionPhase.RUNNING, job=name, start_time=started, results=results)
    # A pod that is gone before it ran does not make forget what kept it.
    is_known = pod is None and before.job == name
    reason, message = (before.reason, before.message) if is_known else _delay(pod)
    return AISessionStatus(phase=SessionPhase.PENDING, reason=reason, message=message, job=name)


def _delay(pod: Manifest | None) -> tuple[str, str | None]:
    """Why a pod does not run yet, where Kubernetes says so."""
    status = (pod or {}).get("status") or {}
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return condition.get("reason") or SessionReason.STARTING, condition.get("message")
    waiting = (_container_state(pod).get("waiting")) or {}
    if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        return waiting["reason"], waiting.get("message")
    return SessionReason.STARTING, None


def _has_run(before: AISessionStatus, pod: Manifest | None) -> bool:
    state = _container_state(pod)
    return before.phase is SessionPhase.RUNNING or bool(state.get("running") or state.get("terminated"))


def _started(pod: Manifest | None) -> str | None:
    state = _container_state(pod)
    times = [(state.get(name) or {}).get("startedAt") for name in ("running", "terminated")]
    found: str | None = next((time for time in times if time), None)
    return found or ((pod or {}).get("status") or {}).get("startTime")


def _results(pod: Manifest | None) -> SessionResults | None:
    return results_from_message(_terminated(pod).get("message") or "")


def _terminated(pod: Manifest | None) -> Manifest:
    found: Manifest = _container_state(pod).get("terminated") or {}
    return found


def _container_state(pod: Manifest | None) -> Manifest:
    # Others may have been added to the pod, such as a mesh's.
    for container in ((pod or {}).get("status") or {}).get("containerStatuses") or ():
        if container["name"] == CONTAINER:
            state: Manifest = container.get("state") or {}
            return state
    return {}


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
