# The image of the watcher. Build it in a checkout: docker build -t tenancy-watcher .
# It also has the `tenancy` command: kubectl -n tenancy-system exec svc/tenancy-watcher -- tenancy list
# The first stage downloads or builds Pulumi and its Kubernetes provider, and builds the engine of the watcher. The go.mod
# files in engine/ and toolchain/ pin the versions.

FROM python:3.11-slim AS tools
WORKDIR /src
COPY . .
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
RUN /venv/bin/pip install --no-cache-dir --no-deps .
RUN /venv/bin/python -c "\
import shutil; \
from embedded.toolchain.resolver import ensure_tools; \
from embedded.toolchain.tools import STACK_TOOLS; \
[shutil.copy2(tool, '/usr/local/bin') for tool in ensure_tools(STACK_TOOLS).values()]"

FROM python:3.11-slim
ENV PATH=/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1
COPY --from=tools /venv /venv
COPY --from=tools /usr/local/bin/pulumi /usr/local/bin/pulumi-resource-kubernetes /usr/local/bin/tenancy-engine \
    /usr/local/bin/
WORKDIR /app
USER 65532:65532
ENTRYPOINT ["python", "-m", "watcher"]
