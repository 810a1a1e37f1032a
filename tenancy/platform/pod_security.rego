# What TenantPodSecurity forbids: the heart of the Pod Security Standards' two levels.
package tenantpodsecurity

spec := input.review.object.spec

is_restricted if input.parameters.level == "restricted"

violation contains {"msg": msg} if {
    is_new
    some fault in pod_faults
    msg := sprintf("pod %s, which level %s forbids", [fault, input.parameters.level])
}

violation contains {"msg": msg} if {
    some [container, fault] in faults
    msg := sprintf("container %q with image %q %s, which level %s forbids", [
        container.name, container.image, fault, input.parameters.level,
    ])
}

is_new if object.get(input.review, "oldObject", null) == null

pod_faults contains sprintf("has %s", [field]) if {
    some field in ["hostNetwork", "hostPID", "hostIPC"]
    spec[field]
}

pod_faults contains sprintf("mounts the node's files in volume %q", [volume.name]) if {
    some volume in spec.volumes
    volume.hostPath
}

lists := ["containers", "initContainers", "ephemeralContainers"]

# Of a container that is there already, nothing that is looked at here can change.
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

faults contains [container, "has no seccomp profile that is known to be safe"] if {
    some container in containers
    not seccomp(container) in safe_profiles
}

faults contains [container, "may gain privileges: set allowPrivilegeEscalation to false"] if {
    some container in linux_restricted
    object.get(container, ["securityContext", "allowPrivilegeEscalation"], true)
}

faults contains [container, "keeps capabilities: drop ALL"] if {
    some container in linux_restricted
    not "ALL" in object.get(container, ["securityContext", "capabilities", "drop"], [])
}

faults contains [container, "may run as root: set runAsNonRoot to true"] if {
    is_restricted
    some container in containers
    not setting(container, "runAsNonRoot", false)
}

faults contains [container, "runs as root: set another runAsUser than 0"] if {
    is_restricted
    some container in containers
    setting(container, "runAsUser", 1) == 0
}

# Windows has none of these fields.
linux_restricted contains container if {
    is_restricted
    not spec.os.name == "windows"
    some container in containers
}

# The container's own setting, else the pod's.
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
