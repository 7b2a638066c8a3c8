# Runs a server and ends it when the process that asked for it ends, however that comes: the kernel closes the pipe
# on standard input then. Arguments: the server's directory, then its command line. Prints the server's pid.
# Standard error is the log.
dir=$1
shift
# The kernel hangs up on a process group that loses its parent while a member is stopped, and a frozen server is one.
trap '' HUP INT TERM
exec 3<&0 4>&1 </dev/null >/dev/null
"$@" >&2 3<&- 4>&- &
server=$!
(
    read -r told <&3
    # From here on it must finish, also when the shell below tells it that the server has ended.
    trap '' USR1
    kill -KILL $server
    if [ -z "$told" ]; then
        # Nobody is left to remove the directory.
        while kill -0 $server; do sleep 0.01; done
        rm -rf "$dir"
    fi
) 4>&- 2>/dev/null &
watcher=$!
echo $server >&4
exec 3<&- 4>&-
wait $server
status=$?
kill -USR1 $watcher 2>/dev/null
wait $watcher
exit $status
