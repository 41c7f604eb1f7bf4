#!/usr/bin/env bash
# Installs what the tests of deploy/ run, where the system's package manager may be used: bubblewrap, and systemd's analyzer (systemd
# itself is not started). It never fails: the tests of what is missing say so.
set -u

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

missing=()
command -v bwrap > /dev/null || missing+=(bubblewrap)
command -v systemd-analyze > /dev/null || missing+=(systemd)
[ "${#missing[@]}" -eq 0 ] && exit 0
if ! command -v apt-get > /dev/null || ! as_root true 2> /dev/null; then
  echo "==> missing for the tests of deploy/: ${missing[*]}" >&2
  exit 0
fi
echo "==> installing ${missing[*]} for the tests of deploy/"
as_root apt-get update -qq > /dev/null 2>&1 || true
DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null 2>&1 ||
  echo "==> ${missing[*]} could not be installed" >&2
exit 0
