"""The platform's own objects: their manifests, their settings, and the Pulumi component that creates them."""
