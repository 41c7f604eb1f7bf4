#!/usr/bin/env bash
# Builds the PgBouncer of a later Debian from its source, because that of Debian 12 (1.18) keeps no prepared statements:
# `build_pgbouncer.sh FOLDER` makes FOLDER/pgbouncer, without TLS and PAM. The suite's lists are kept in the folder, so the system's
# own sources stay as they are; only what compiles it is installed. It fails where there is no Debian mirror.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/installing.sh"

suite=trixie
folder="$(mkdir -p "$1" && cd "$1" && pwd)"
[ -x "$folder/pgbouncer" ] && exit 0

missing=()
command -v cc > /dev/null || missing+=(gcc libc6-dev)
command -v pkg-config > /dev/null || missing+=(pkg-config)
pkg-config --exists libevent 2> /dev/null || missing+=(libevent-dev)
[ "${#missing[@]}" -eq 0 ] || install_packages "${missing[@]}"

mirror() {
  apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' | awk '$2 $3 == "DebianDebian" { print $1; exit }'
}
# Without lists of packages, it is not known which of the sources is Debian.
[ -n "$(mirror)" ] || as_root apt-get update -qq
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) $suite main" > "$folder/sources.list"
options=(-o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache" -o APT::Sandbox::User=root)
cd "$folder"
apt-get "${options[@]}" update -qq
apt-get "${options[@]}" source -qq --download-only pgbouncer
mkdir -p source
tar -x --strip-components 1 -C source -f pgbouncer_*.orig.tar.gz
cd source
./configure --without-cares --without-pam --without-openssl > /dev/null
make pgbouncer > /dev/null
mv pgbouncer "$folder/pgbouncer"
