#!/bin/sh
# Stand-in for ssh on a testbed: ssh [OPTIONS] HOST COMMAND... runs COMMAND on a virtual host,
# in the host's network, under its name and within its limits.
while :; do
    case "$1" in
        -[bcDEeFIiJLlmOopQRSWw]) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
host=$1
shift
here=${0%/*}
if [ ! -e "$here/names/$host" ]; then
    echo "parcast testbed: there is no host $host. The hosts are in $here/hosts." >&2
    exit 255
fi
while read -r group; do
    echo 0 > "$group/$host/cgroup.procs" || exit 255
done < "$here/groups"
exec nsenter --net="$here/networks/$host" --uts="$here/names/$host" sh -c "$*"
