# Sourced by the scripts that install what tests need, and by .ci/run.

# Runs a command as root, if we are root or may become it without a password.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Whether packages can be installed here.
may_install() {
  command -v apt-get > /dev/null && as_root true 2> /dev/null
}

# Installs packages of Debian without a word. The lists of packages are fetched where the machine has none, or old ones.
install_packages() {
  _install "$@" || { as_root apt-get update -qq > /dev/null 2>&1; _install "$@"; }
}

_install() {
  DEBIAN_FRONTEND=noninteractive as_root apt-get install -y -qq --no-install-recommends "$@" > /dev/null 2>&1
}
