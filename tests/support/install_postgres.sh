#!/usr/bin/env bash
# Installs PostgreSQL for the tests where none is found and the system's package manager may be used. It never fails: without
# PostgreSQL the tests that need it are skipped and say how to get it (or fail, with THREADKEEP_REQUIRE_ALL=1).
set -u
. "$(dirname "${BASH_SOURCE[0]}")/installing.sh"

package=postgresql-15

found() {
  [ -n "${THREADKEEP_TEST_PG_BIN:-}" ] || compgen -G '/usr/lib/postgresql/*/bin/initdb' > /dev/null || command -v initdb > /dev/null
}

found && exit 0

if ! may_install; then
  echo "==> no PostgreSQL here, and no way to install it: its tests will say so" >&2
  exit 0
fi

echo "==> installing $package for the tests"
# The tests start their own clusters, so the package is not to make and start one.
as_root mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] ||
  echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.conf > /dev/null
# Debian 12 has 15; elsewhere the distribution's own version will do.
install_packages "$package" || install_packages postgresql

found || echo "==> PostgreSQL could not be installed: its tests will say so" >&2
exit 0
