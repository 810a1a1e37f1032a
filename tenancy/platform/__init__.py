"""What the platform itself is made of: manifests, their settings, and the component that holds them."""
