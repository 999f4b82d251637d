"""`numafit demo` as a process of its own, on pipes or on a terminal that a test types into."""

import codecs
import fcntl
import os
import pty
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = str(Path(sys.executable).with_name("numafit"))
WAIT_SECONDS = 60


def environment(directory: Path, **variables: str) -> dict[str, str]:
    """The same for a demo whatever the tests are started with; everything temporary is made in ``directory``."""
    dropped = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return kept | {"TMPDIR": str(directory), "PYTHONIOENCODING": "utf-8", "TERM": "xterm"} | variables


class Piped:
    """A demo whose output is read by a program."""

    def __init__(self, directory: Path, *flags: str, **variables: str) -> None:
        self.directory = directory
        self.process = subprocess.Popen(
            [PROGRAM, "demo", *flags],
            cwd=ROOT,
            env=environment(directory, **variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.out = self.err = ""

    def finish(self) -> "Piped":
        """Wait for its end and keep what it wrote."""
        self.out, self.err = self.process.communicate(timeout=WAIT_SECONDS)
        return self

    def end(self) -> None:
        """End it, if it has not ended, and let go of its pipes."""
        self.process.kill()
        self.process.communicate()

    @property
    def code(self) -> int:
        return self.process.returncode

    def step(self, number: int) -> str:
        """What stands under the heading of that step, with folded lines joined."""
        _, _, rest = self.out.partition(f"\n{number}. ")
        lines = rest.partition(f"\n{number + 1}. ")[0].partition("\nWhat to try next")[0].splitlines()[1:]
        return "".join(f"{line} " for line in map(str.strip, lines))


class Typed:
    """A demo on a terminal."""

    def __init__(self, directory: Path, *flags: str, **variables: str) -> None:
        self.directory = directory
        self._terminal, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [PROGRAM, "demo", *flags],
            cwd=ROOT,
            env=environment(directory, COLUMNS="100", **variables),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - nothing here has threads
        )
        os.close(theirs)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.screen = ""

    def read_until(self, part: str) -> None:
        """Read until the screen shows ``part``, or to the end."""
        with suppress(OSError):  # as Linux says that nobody writes to a terminal any more
            while part not in self.screen:
                self.screen += self._decoder.decode(os.read(self._terminal, 65536))

    def press_enter(self) -> None:
        os.write(self._terminal, b"\n")

    def press_ctrl_c(self) -> None:
        os.write(self._terminal, b"\x03")

    def finish(self) -> int:
        """Wait for its end, and return the exit code."""
        self.read_until("\0")
        return self.process.wait(WAIT_SECONDS)

    def end(self) -> None:
        """End it, if it has not ended, and let go of its terminal."""
        self.process.kill()
        self.process.wait()
        os.close(self._terminal)


def _take_terminal() -> None:
    """Become the program in front of the terminal on stdin, the one that Ctrl-C reaches."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def servers(directory: Path) -> list[int]:
    """The processes, gunicorn's worker among them, of a server that a demo in ``directory`` has started."""
    return [int(each.name) for each in Path("/proc").glob("[0-9]*") if f"={directory}/".encode() in _command(each)]


def _command(process: Path) -> bytes:
    with suppress(OSError):  # it has ended meanwhile
        return (process / "cmdline").read_bytes()
    return b""
