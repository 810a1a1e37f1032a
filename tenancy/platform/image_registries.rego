# What TenantImageRegistries forbids: images from anywhere but the registries given.
package tenantimageregistries

violation contains {"msg": msg} if {
    some [user, image] in used(input.review.object)
    not image in images_before
    not is_trusted(repository(image))
    msg := sprintf("%s has image %q, which is from none of the tenant's registries: %v", [
        user, image, input.parameters.registries,
    ])
}

images_before := {image | some [_, image] in used(input.review.oldObject)}

# Volumes can be images, too.
used(pod) := containers | volumes if {
    containers := {[sprintf("container %q", [container.name]), container.image] |
        some list in ["containers", "initContainers", "ephemeralContainers"]
        some container in pod.spec[list]
    }
    volumes := {[sprintf("volume %q", [volume.name]), volume.image.reference] |
        some volume in pod.spec.volumes
    }
}

# The image's full name, without tag and digest.
repository(image) := name if {
    bare := regex.replace(split(image, "@")[0], `:[^/:]*$`, "")
    hub := regex.replace(with_registry(bare), `^index\.docker\.io/`, "docker.io/")
    name := regex.replace(hub, `^docker\.io/([^/]+)$`, "docker.io/library/$1")
}

# Only a dot, a port, a capital or the name localhost tells a registry from a user of Docker Hub.
with_registry(name) := name if regex.match(`^(localhost|[^/]*[.:A-Z][^/]*)/`, name)

else := concat("/", ["docker.io", name])

is_trusted(name) if {
    some registry in input.parameters.registries
    startswith(sprintf("%s/", [name]), sprintf("%s/", [registry]))
}
