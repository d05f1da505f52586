# Bundle digits "cnn" $HOME, id 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
# Builds with plain `docker build .` in this folder; only Debian packages, where there are any, need a network.
# Base image: sha256:babababababababababababababababababababababababababababababababa

# What needs tools is done in a stage of its own; the wheels stay behind there.
FROM repro-base:3.11 AS env
USER 0:0
RUN python3 -m venv /opt/env
COPY requirements.lock /opt/lock/
COPY wheels/ /opt/lock/wheels/
RUN echo 'pip==26.1 --hash=sha256:1111111111111111111111111111111111111111111111111111111111111111' > /opt/lock/installer.lock \
 && /opt/env/bin/python -m pip --isolated install --no-index --find-links /opt/lock/wheels --require-hashes \
    --no-cache-dir --no-compile -r /opt/lock/installer.lock
RUN /opt/env/bin/python -m pip --isolated install --no-index --find-links /opt/lock/wheels --require-hashes \
    --no-cache-dir --no-compile -r /opt/lock/requirements.lock \
 && /opt/env/bin/python -m pip --isolated check
# Compiled here, since the root may be read-only at run; the same bytes each time. Some packages
# carry files that are no valid Python of this version: they are passed over.
RUN PYTHONHASHSEED=0 /opt/env/bin/python -m compileall -f -q -j 1 --invalidation-mode unchecked-hash /opt/env/lib > /dev/null 2>&1 || :
ADD code.tar /opt/repro/bundle/
COPY params/ /opt/repro/bundle/params/
COPY params.json eval.json protocol.json snapshot.json identity.json stack.json /opt/repro/bundle/
# The stage stays behind as build cache, without a name; this finds it.
LABEL dev.reprobundle.stage="digits \"cnn\" \$HOME"

# Layers in order of how seldom they change.
FROM repro-base:3.11
USER 0:0
COPY --from=env /opt/env /opt/env
COPY eval/ /opt/repro/bundle/eval/
COPY repro_runtime/ /opt/repro/repro_runtime/
# Brings the recorder back where a command sets PYTHONPATH itself.
COPY repro_runtime/inject/repro_runtime.pth /opt/env/lib/python3.11/site-packages/
COPY --from=env /opt/repro/bundle /opt/repro/bundle
ENV PATH=/opt/env/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
LABEL org.opencontainers.image.title="digits \"cnn\" \$HOME" \
      org.opencontainers.image.version="0123456789ab" \
      org.opencontainers.image.revision="cccccccccccccccccccccccccccccccccccccccc" \
      org.opencontainers.image.created="2023-11-14T22:13:20Z" \
      org.opencontainers.image.base.name="repro-base:3.11" \
      org.opencontainers.image.base.digest="sha256:babababababababababababababababababababababababababababababababa" \
      dev.reprobundle="1" \
      dev.reprobundle.id="0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
WORKDIR /opt/repro
ENTRYPOINT ["/opt/env/bin/python", "-m", "repro_runtime"]
CMD ["run"]
