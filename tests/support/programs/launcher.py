"""Stands in for `python`: a fork of the process of fork.py runs the program, with our arguments, environment, folder and files.

Usage: launcher.py SOCKET [-m MODULE | -c CODE | FILE] [ARGUMENT...]. Signals are passed on, and the program ends with us. It
starts in a hundredth of a second, so it imports little.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

_PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def main() -> int:
    """Returns the exit code of the program; ends by the signal that ended it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as fork:
        fork.connect(sys.argv[1])
        for passed in _PASSED_ON:
            if signal.getsignal(passed) is not signal.SIG_IGN:
                signal.signal(passed, lambda received, _: fork.send(bytes([received])) and None)
        request = {"arguments": sys.argv[2:], "env": dict(os.environ), "cwd": os.getcwd()}  # noqa: PTH109 - it imports pathlib
        socket.send_fds(fork, [json.dumps(request).encode()], [0, 1, 2])
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):  # who reads the output of the program, or writes its input, sees when it closes them
            os.dup2(nowhere, number)
        status = int(fork.recv(16) or b"255")
    if status < 0:
        if status != -signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    os._exit(main())
