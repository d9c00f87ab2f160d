#!/usr/bin/env bash
# own_machine.sh COMMAND USER SETUP SCRIPT
#
# Runs SCRIPT as the user of that number, on a machine whose /run and /tmp are empty at first. Root runs SETUP before. SCRIPT has the function
# byway, which is COMMAND, and daemon, which starts one in the background and returns when it is ready; its log is /tmp/*.log.
# Daemons end with the script. Without root, one user's files are those of both.
set -euo pipefail

if [ -z "${OWN_MACHINE-}" ]; then
  rights=()
  [ "$(id -u)" = 0 ] || rights=(--map-root-user)
  OWN_MACHINE=$(id -u) exec unshare "${rights[@]}" --mount bash "$0" "$@"
fi

byway() { /mnt/byway "$@"; }
daemon() {
  local log
  log=$(mktemp /tmp/XXXXXX.log)
  /mnt/byway "$@" <"$log" 2>"$log" &
  until grep -q ' ready' "$log"; do
    [ -e /proc/$! ] || { cat "$log" >&2; exit 1; }
    sleep 0.02
  done
}

mount --bind "$(dirname "$1")" /mnt
mount -t tmpfs tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /tmp
unset XDG_RUNTIME_DIR RUNTIME_DIRECTORY
user=$2
eval "$3"
as=()
if [ "$user" != 0 ]; then
  if [ "$OWN_MACHINE" = 0 ]; then
    as=(setpriv "--reuid=$user" "--regid=$user" --clear-groups)
  else
    as=(unshare "--map-user=$user" "--map-group=$user")
  fi
fi
# Not exec: the trap must run.
"${as[@]}" bash -c "set -euo pipefail; cd /; trap 'kill \$(jobs -p)' EXIT
$(declare -f byway daemon)
$4"
