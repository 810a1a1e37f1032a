# TenantPodSecurity: enforces the main rules of the Pod Security Standards `baseline` and `restricted`.
package tenantpodsecurity

spec := input.review.object.spec

is_restricted if input.parameters.level == "restricted"

violation contains {"msg": msg} if {
    is_new
    some fault in pod_faults
    msg := sprintf("Pod Security level %s: pod %s", [input.parameters.level, fault])
}

violation contains {"msg": msg} if {
    some [container, fault] in faults
    msg := sprintf("Pod Security level %s: container %q with image %q %s", [
        input.parameters.level, container.name, container.image, fault,
    ])
}

is_new if object.get(input.review, "oldObject", null) == null

pod_faults contains sprintf("has %s", [field]) if {
    some field in ["hostNetwork", "hostPID", "hostIPC"]
    spec[field]
}

pod_faults contains sprintf("mounts hostPath volume %q", [volume.name]) if {
    some volume in spec.volumes
    volume.hostPath
}

lists := ["containers", "initContainers", "ephemeralContainers"]

# The checked fields of a container are immutable, so only new containers are checked.
names_before := {container.name | some list in lists; some container in input.review.oldObject.spec[list]}

containers contains container if {
    some list in lists
    some container in spec[list]
    not container.name in names_before
}

faults contains [container, "is privileged"] if {
    some container in containers
    container.securityContext.privileged
}

faults contains [container, sprintf("adds the capabilities %v", [surplus])] if {
    some container in containers
    surplus := {added | some added in container.securityContext.capabilities.add} - addable
    count(surplus) > 0
}

faults contains [container, "has no seccomp profile that is allowed: set seccompProfile.type to RuntimeDefault or Localhost"] if {
    some container in containers
    not seccomp(container) in safe_profiles
}

faults contains [container, "may gain privileges: set allowPrivilegeEscalation to false"] if {
    some container in linux_restricted
    object.get(container, ["securityContext", "allowPrivilegeEscalation"], true)
}

faults contains [container, "does not drop all capabilities: set capabilities.drop to ALL"] if {
    some container in linux_restricted
    not "ALL" in object.get(container, ["securityContext", "capabilities", "drop"], [])
}

faults contains [container, "may run as root: set runAsNonRoot to true"] if {
    is_restricted
    some container in containers
    not setting(container, "runAsNonRoot", false)
}

faults contains [container, "runs as root: set runAsUser to a value other than 0"] if {
    is_restricted
    some container in containers
    setting(container, "runAsUser", 1) == 0
}

# Pods for Windows are left out: allowPrivilegeEscalation and capabilities do not apply to them.
linux_restricted contains container if {
    is_restricted
    not spec.os.name == "windows"
    some container in containers
}

# The value of a securityContext field: of the container, or of the pod if the container does not set it.
setting(container, field, otherwise) := object.get(
    container, ["securityContext", field],
    object.get(spec, ["securityContext", field], otherwise),
)

seccomp(container) := setting(container, "seccompProfile", {"type": ""}).type

addable := {"NET_BIND_SERVICE"} if is_restricted

else := {
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}

safe_profiles := {"RuntimeDefault", "Localhost"} if {
    is_restricted
    not spec.os.name == "windows"
}

else := {"RuntimeDefault", "Localhost", ""}
