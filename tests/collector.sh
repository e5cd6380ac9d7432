#!/bin/sh
# Builds an OpenTelemetry collector that takes profiles, from the Go module proxy, into DIRECTORY, and prints its path. Does nothing
# when that has been done before.
#     tests/collector.sh DIRECTORY
set -eu

directory=$1
# OTLP 1.11.0, which the tools write; the modules of later collectors are not all there.
version=v0.159.0
builder=v0.164.0
mkdir -p "$directory"
cd "$directory"
exec 9>lock
flock 9
program=$PWD/out-$version/otelcol-prof
if [ ! -x "$program" ]; then
    export GOFLAGS="-p=1 -modcacherw -buildvcs=false" CGO_ENABLED=0 GOBIN="$PWD/bin"
    cat >builder.yaml <<END
dist:
  name: otelcol-prof
  output_path: $PWD/out-$version
  module: example.test/otelcolprof
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver $version
exporters:
  - gomod: github.com/open-telemetry/opentelemetry-collector-contrib/exporter/fileexporter $version
END
    if ! { [ -x bin/builder ] || go install "go.opentelemetry.io/collector/cmd/builder@$builder"; } >build.log 2>&1 9>&- ||
        ! bin/builder --config builder.yaml --skip-strict-versioning --ldflags "-s -w" >>build.log 2>&1 9>&-; then
        tail -n 20 build.log >&2
        exit 1
    fi
fi
echo "$program"
