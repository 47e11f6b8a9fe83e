"""A made up procfs: this process and its children, sizes in MiB."""

import shutil
from collections.abc import Iterable
from pathlib import Path


class MadeUpProc:
    """A folder that looks like procfs."""

    def __init__(self, folder: Path, children: Iterable[int] = ()) -> None:
        self.folder = folder / "proc"
        listed = " ".join(map(str, children))
        self.write("self", "task/1/children", listed)

    def write(self, pid: int | str, name: str, text: str) -> None:
        path = self.folder / str(pid) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def status(
        self,
        pid: int | str,
        *,
        anonymous: int,
        shared: int = 0,
        swapped: int = 0,
        file: int = 0,
        parent: str = "",
    ) -> None:
        """Write the status of a process; with `parent`, of a fork, which has the same command."""
        resident = anonymous + shared + file
        self.write(
            pid,
            "status",
            f"Name:\tpython\nVmHWM:\t{resident * 1024} kB\nRssAnon:\t{anonymous * 1024} kB\n"
            f"RssFile:\t{file * 1024} kB\nRssShmem:\t{shared * 1024} kB\n"
            f"VmSwap:\t{swapped * 1024} kB\nThreads:\t1\n",
        )
        self.write(pid, "cmdline", "python" if parent or pid == "self" else f"python -{pid}")
        self.write(pid, "stat", f"{pid} (a) b) S 1 1")
        if parent:
            self.write(1, "cmdline", "python")
            (self.folder / "1" / "status").write_bytes(
                (self.folder / parent / "status").read_bytes()
            )

    def rollup(
        self,
        pid: int | str,
        *,
        anonymous: int,
        shared: int = 0,
        swapped: int = 0,
        file: int = 0,
        private_dirty: int = 0,
    ) -> None:
        self.write(
            pid,
            "smaps_rollup",
            f"55-7f ---p 00000000 00:00 0    [rollup]\nRss:   1 kB\nPss:   1 kB\n"
            f"Pss_Anon:  {anonymous * 1024} kB\nPss_File:   {file * 1024} kB\n"
            f"Pss_Shmem:  {shared * 1024} kB\nPrivate_Clean:  0 kB\n"
            f"Private_Dirty:  {private_dirty * 1024} kB\nSwapPss:  {swapped * 1024} kB\n",
        )

    def end(self, pid: int) -> None:
        shutil.rmtree(self.folder / str(pid))
