# CoreDNS with the kuadrant plugin, and kdns, as static binaries. The image has
# nothing else in it that runs: no shell, no package manager, no C library.
#
#   docker build --build-arg VERSION=$(git describe --always --dirty) -t NAME:TAG .
#
# For two platforms. Go runs on the builder's own one and compiles for each: nothing is emulated.
#
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=$(git describe --always --dirty) -t NAME:TAG --push .

# What the binary is put on. Nothing is needed of it: another static base image may
# stand here, for those whose scanners want one with a release of its own.
ARG BASE=scratch

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
ARG VERSION=unversioned
# The same source and VERSION give the same file, wherever it is built.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X github.com/coredns/coredns/coremain.GitCommit=$VERSION" -o /out/ ./cmd/coredns ./cmd/kdns
# One account and no other: 65532, which config/deploy runs it as.
RUN mkdir -p /out/etc/ssl/certs && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ && \
    echo 'nonroot:x:65532:65532:nonroot:/:/sbin/nologin' > /out/etc/passwd && \
    echo 'nonroot:x:65532:' > /out/etc/group

FROM ${BASE}
ARG VERSION=unversioned
LABEL org.opencontainers.image.title="kuadrant" \
      org.opencontainers.image.description="CoreDNS with the kuadrant plugin" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /out/ /
USER 65532:65532
# config/deploy says -dns.port 1053, which needs no right.
EXPOSE 1053/udp 1053/tcp
ENTRYPOINT ["/coredns"]
