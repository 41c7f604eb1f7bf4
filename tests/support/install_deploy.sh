#!/usr/bin/env bash
# Installs what the tests of deploy/ run, where the system's package manager may be used: bubblewrap, and systemd's analyzer (systemd
# itself is not started). It never fails: the tests of what is missing say so.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/installing.sh"

missing=()
command -v bwrap > /dev/null || missing+=(bubblewrap)
command -v systemd-analyze > /dev/null || missing+=(systemd)
[ "${#missing[@]}" -eq 0 ] && exit 0
if ! may_install; then
  echo "==> missing for the tests of deploy/: ${missing[*]}" >&2
  exit 0
fi
echo "==> installing ${missing[*]} for the tests of deploy/"
install_packages "${missing[@]}" || echo "==> ${missing[*]} could not be installed" >&2
exit 0
