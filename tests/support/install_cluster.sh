#!/usr/bin/env bash
# Installs what the tests of operations need next to PostgreSQL: Patroni, etcd, HAProxy, PgBouncer and pgBackRest, where the system's package
# manager may be used. Nothing is started. It never fails: without the programs the tests are skipped and say how to get them
# (or fail, with THREADKEEP_REQUIRE_ALL=1).
set -u
. "$(dirname "${BASH_SOURCE[0]}")/installing.sh"

found() {
  for program in patroni etcd haproxy pgbouncer pgbackrest; do
    PATH="$PATH:/usr/sbin" command -v "$program" > /dev/null || return 1
  done
}

found && exit 0

if ! may_install; then
  echo "==> no Patroni or no pgBackRest here, and no way to install it: its tests will say so" >&2
  exit 0
fi

echo "==> installing patroni, etcd-server, haproxy, pgbouncer and pgbackrest for the tests"
# The packages start services where the policy lets them; the tests start their own.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" > /dev/null
  as_root chmod +x "$policy"
  trap 'as_root rm -f "$policy"' EXIT
fi
install_packages patroni python3-etcd etcd-server haproxy pgbouncer pgbackrest

found || echo "==> Patroni, etcd, HAProxy, PgBouncer or pgBackRest could not be installed: their tests will say so" >&2
exit 0
