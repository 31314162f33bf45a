# The archive of scripts/archive.sh and nothing else. The engine's default seccomp filter makes system calls dearer:
#   docker run --rm --security-opt seccomp=unconfined -v "$PWD":/records IMAGE
FROM --platform=$BUILDPLATFORM busybox:1.37 AS unpack
ARG TARGETARCH
COPY dist/switchcost-*.tar.gz /
RUN case $TARGETARCH in amd64) arch=x86_64 ;; arm64) arch=aarch64 ;; *) exit 1 ;; esac && \
    tar -xzf /switchcost-*-$arch.tar.gz && mv /switchcost-*-$arch /switchcost
FROM scratch
COPY --from=unpack /switchcost /switchcost
# There is no /tmp for the lock that keeps two runs apart.
ENV SWITCHCOST_LOCK=/dev/shm/switchcost.lock
WORKDIR /records
ENTRYPOINT ["/switchcost/switchcost"]
