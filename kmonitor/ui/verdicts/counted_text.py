"""Resources that are counted and never given back, as text: their cause, and remedies."""

from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import Verdict


def counted_cause_text(verdict: Verdict) -> str:
    """For example "files, sockets or pipes are opened and never closed: a.bin"."""
    text = endless_text(verdict.cause)
    what = next((one.name for one in verdict.grew_with if one.name), "")
    return f"{text}: {what}" if text and what else text


def endless_text(cause: str) -> str:
    """For example "threads are started and never end"; empty if the cause is no resource."""
    texts = {
        "files": tr("files, sockets or pipes are opened and never closed"),
        "threads": tr("threads are started and never end"),
        "processes": tr("child processes are started and never end"),
        "zombies": tr("child processes exited and were never reaped (zombies)"),
        "blocks": tr("blocks of shared memory are created and never unlinked"),
        "disk": tr("the disk is filling up; its space is used by all programs"),
    }
    return texts.get(cause, "")


def retainers_text(verdict: Verdict) -> str:
    """Resources beside which memory grows: "threads that never end (prefetch-*) may retain it".

    Empty with another cause, and for verdicts on the resources themselves.
    """
    if verdict.metric != "ram":
        return ""
    texts = {
        "files": tr("files, sockets or pipes that are never closed ({name}) may retain it"),
        "threads": tr("threads that never end ({name}) may retain it"),
        "processes": tr("child processes that never end ({name}) may retain it"),
        "zombies": tr("child processes that are never reaped ({name}) may retain it"),
    }
    growth = next((one for one in verdict.grew_with if one.kind == "named"), None)
    text = texts.get(verdict.cause, "")
    return text.format(name=growth.name) if growth is not None else ""


def counted_advice_text(code: str) -> str:
    """Remedy for a resource that is not given back; empty if the code is of none."""
    texts = {
        "close_files": tr("close files after use: with open(...) as file"),
        "close_sockets": tr("close connections, or reuse one session"),
        "close_pipes": tr(
            "close pipes and stop child processes: communicate(), close(), terminate(), join()"
        ),
        "share_less": tr(
            "copy the data you receive from workers or, with PyTorch, call"
            " torch.multiprocessing.set_sharing_strategy('file_system')"
        ),
        "pool_once": tr(
            "create the thread pool once, or shut it down: with ThreadPoolExecutor() as pool"
        ),
        "check_child": tr(
            "check what the child process keeps: what is put into a Manager's list or dict, or"
            " sent to a process, stays until it is removed there; workers of a Pool can be"
            " replaced: maxtasksperchild"
        ),
        "fewer_workers": tr(
            "start fewer workers, or new ones for each epoch (a Pool: maxtasksperchild)"
        ),
        "wait_for_children": tr("reap child processes that have exited: wait() or join()"),
        "unlink_blocks": tr("close and unlink each shared memory block after reading it"),
        "fewer_checkpoints": tr(
            "keep fewer checkpoints: save_best_only=True, or one file name for all"
        ),
        "free_memory": tr(
            "free memory: smaller batches or caches, fewer workers, no other programs"
        ),
        "free_space": tr("free space on the disk, whichever program uses it"),
    }
    return texts.get(code, "")
