#!/usr/bin/env bash
# Puts promtool and prometheus of Debian's package into build/prometheus/bin, where neither is installed: the package is
# unpacked, not installed, so that no service starts. It never fails: without them the tests of the dashboard and the alerts are
# skipped and say how to get them (or fail, with THREADKEEP_REQUIRE_ALL=1).
set -u
. "$(dirname "${BASH_SOURCE[0]}")/installing.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

found() {
  { command -v promtool && command -v prometheus; } > /dev/null || [ -x build/prometheus/bin/promtool ]
}

found && exit 0

if ! command -v apt-get > /dev/null || ! command -v dpkg-deb > /dev/null; then
  echo "==> no Prometheus here, and no way to get it: its tests will say so" >&2
  exit 0
fi

echo "==> unpacking prometheus for the tests"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
download() { (cd "$folder" && apt-get download -qq prometheus) > /dev/null 2>&1; }
download || { as_root apt-get update -qq > /dev/null 2>&1; download; }
if dpkg-deb -x "$folder"/prometheus_*.deb "$folder/unpacked" 2> /dev/null; then
  mkdir -p build/prometheus/bin
  cp "$folder"/unpacked/usr/bin/prom{tool,etheus} build/prometheus/bin/
fi

found || echo "==> prometheus could not be had: its tests will say so" >&2
exit 0
