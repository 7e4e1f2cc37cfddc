"""Runs a command on a terminal of ROWS and COLUMNS, and prints what it shows: terminal.py ROWS COLUMNS COMMAND..."""
import fcntl
import os
import pty
import struct
import sys
import termios

rows, columns = int(sys.argv[1]), int(sys.argv[2])
pid, terminal = pty.fork()
if pid == 0:
    # The size is set when the parent says so.
    sys.stdin.readline()
    os.execvp(sys.argv[3], sys.argv[3:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
attributes = termios.tcgetattr(terminal)
attributes[3] &= ~termios.ECHO
termios.tcsetattr(terminal, termios.TCSANOW, attributes)
os.write(terminal, b"\n")
shown = b""
try:
    while piece := os.read(terminal, 65536):
        shown += piece
except OSError:  # the command has ended
    pass
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
sys.exit(status)
