# TenantImageRegistries: rejects images that are not from one of the listed registries.
package tenantimageregistries

violation contains {"msg": msg} if {
    some [user, image] in used(input.review.object)
    not image in images_before
    not is_trusted(repository(image))
    msg := sprintf("%s has image %q, which is not from one of the tenant's registries: %v", [
        user, image, input.parameters.registries,
    ])
}

images_before := {image | some [_, image] in used(input.review.oldObject)}

# The images of the containers and image volumes of a pod. Each element names the container or volume, and its
# image.
used(pod) := containers | volumes if {
    containers := {[sprintf("container %q", [container.name]), container.image] |
        some list in ["containers", "initContainers", "ephemeralContainers"]
        some container in pod.spec[list]
    }
    volumes := {[sprintf("volume %q", [volume.name]), volume.image.reference] |
        some volume in pod.spec.volumes
    }
}

# The fully qualified repository of an image, without tag and digest.
repository(image) := name if {
    bare := regex.replace(split(image, "@")[0], `:[^/:]*$`, "")
    hub := regex.replace(with_registry(bare), `^index\.docker\.io/`, "docker.io/")
    name := regex.replace(hub, `^docker\.io/([^/]+)$`, "docker.io/library/$1")
}

# The first path segment is a registry host only if it is localhost or contains a dot, a colon or a capital
# letter. Otherwise the image is on Docker Hub.
with_registry(name) := name if regex.match(`^(localhost|[^/]*[.:A-Z][^/]*)/`, name)

else := concat("/", ["docker.io", name])

is_trusted(name) if {
    some registry in input.parameters.registries
    startswith(sprintf("%s/", [name]), sprintf("%s/", [registry]))
}
