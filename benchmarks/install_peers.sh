#!/usr/bin/env bash
# Peers of the benchmark, into an environment of their own: install_peers.sh PYTHON ENVIRONMENT
# What a platform lacks is named, and its rows are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
environment=$2

"$python" -m venv "$environment"
pip() { "$environment/bin/python" -m pip --disable-pip-version-check install --quiet "$@"; }

# Packages of the system: cyipopt, which opty calls, is compiled against Ipopt; PyDy and CasADi generate C.
missing=()
command -v cc > /dev/null || missing+=(gcc)
command -v pkg-config > /dev/null || missing+=(pkg-config)
pkg-config --exists ipopt 2> /dev/null || missing+=(coinor-libipopt-dev)
for library in blas lapack; do
  echo 'int main(void) { return 0; }' | cc -x c - "-l$library" -o /dev/null 2> /dev/null || missing+=("lib$library-dev")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "peers need packages of the system: ${missing[*]}"
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo --non-interactive)
  if command -v apt-get > /dev/null && "${as_root[@]}" true 2> /dev/null; then
    { "${as_root[@]}" apt-get -qq update && "${as_root[@]}" apt-get -qq install -y --no-install-recommends "${missing[@]}"; } > /dev/null 2>&1 ||
      echo "apt-get could not install them" &  # while pip installs what needs none of them
  else
    echo "install them by the system's package manager (Homebrew: ipopt, pkg-config), remove $environment and run again"
  fi
fi

pip --editable '.[peers]'
with_reason() {
  pip "$@" 2> "$environment/error" || { echo "left out: $*"; grep --max-count=3 -iE 'error:|cannot find' "$environment/error" || true; }
}
pip pin mujoco symbrim jax 2> /dev/null || for peer in pin mujoco symbrim jax; do with_reason "$peer"; done
wait
with_reason opty cyipopt
