"""Translates texts of trainings, hubs and hosts into the language in force.

Trainings, hubs and hosts do not know the viewer's language: they store English sentences, which
windows in any language read. This module knows the forms of frequent sentences; others are shown
unchanged.
"""

import re
from functools import lru_cache
from string import Formatter
from typing import Final

from kmonitor.ui.text.language import later, tr


def translated_text(text: str) -> str:
    """Translate a sentence of a training, hub or host if its form is known; else return it.

    Args:
        text: Sentence as received; empty stays empty.
    """
    form, fields = _form_of(text)
    return (
        tr(form).format(**{name: translated_text(value) for name, value in fields})
        if form
        else text
    )


@lru_cache(maxsize=1024)
def _form_of(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Known form of a sentence and the values of its fields; "" if there is none."""
    if text in _PLAIN:
        return text, ()
    for form, pattern in _PATTERNS:
        match = pattern.fullmatch(text)
        if match is not None:
            return form, tuple(match.groupdict().items())
    return "", ()


_MAP_FORMS: Final = (
    # Origins of a map.
    later("rules for each layer class; nothing was run"),
    later("estimate scaled by {factor}, measured at batch size {batch}"),
    later("estimate scaled by {factor}, measured at batch size {batch} on {device}"),
    later("measured at batch sizes {sizes}"),
    later("measured at batch sizes {sizes} on {device}"),
    later("no batch size has been measured over {n} or more steps"),
    later("only one batch size was measured; a second one is needed"),
    later(
        "at this batch size, the peak occurs when gradients are applied, so it does not "
        "show how memory grows with the batch size; measure with a larger batch"
    ),
    # Notes on the whole.
    later("the run reported its layers and weights, but not how the layers are connected"),
    later("the optimizer state of {name} is unknown: Adam's is assumed"),
    later("the model is not compiled: no optimizer and no gradients are counted"),
    later(
        "XLA decides what to fuse: the rules were validated against its memory plans, not"
        " against an allocator, and on a CPU, XLA uses up to three times as much; measuring five"
        " steps corrects for this"
    ),
    later(
        "the rules for PyTorch were not validated against an allocator; measuring five steps on"
        " a GPU corrects for this"
    ),
    later(
        "the rules for 16-bit precision were validated only on CPUs, whose convolutions use"
        " 32-bit copies; measuring five steps corrects for this"
    ),
    later(
        "the framework may run loop iterations of recurrent layers ahead of time and keep "
        "the tensors of all of them in memory; the rules for these layers were not "
        "validated against an allocator"
    ),
    later("the CPU allocator does not count tensors below 256 KiB: the estimate adds them"),
    later(
        "the CPU allocator does not count tensors below 256 KiB: it saw {took} of the"
        " {whole} that a step at batch size {batch} should need; a larger batch shows more"
    ),
    later(
        "{size} of resident memory is neither weights nor optimizer state; it may be data on"
        " the device or another model, for example"
    ),
    # Notes on a layer.
    later("(variables of the model itself)"),
    later("(outside layers)"),
    later("(allocator rounding)"),
    later("(other resident memory)"),
    later("weights counted under {layers}"),
    later("used {n} times, weights counted once"),
    later("frozen"),
    later("no weights, no saved activations"),
    later("not used"),
    later("no weights"),
    # Advice.
    later("{policy} instead of {other}, on a GPU"),
    later("{name} instead of {other}; this changes how the model trains"),
    later("batch size {half} instead of {whole}; this changes how the model trains"),
    later(
        "batch size {half} with gradient_accumulation_steps={n}: gradients of {whole} examples,"
        " but batch normalization sees {seen}"
    ),
    # Ways to load a file.
    later("architecture, then load_weights"),
    later("architecture, compiled, then load_weights"),
    later("architecture only, no weights"),
)
"""Forms of sentences about memory maps and model files."""

_STUDY_FORMS: Final = (
    later("its processes used more than memory={bound}"),
    later("the kernel killed one of its processes when they reached memory={bound}"),
    later("the kernel killed it when it reached memory={bound}"),
    later("it ran out of memory, as its output shows"),
    later("this host had only {left} of memory left, and the fold was using the most ({held})"),
    later("this host had only {left} of memory left, and the trial was using the most ({held})"),
    later("it took longer than the {n} s that the finished folds suggest"),
    later("it took longer than timeout_s={n}"),
    later("no step for {n} s at its start; the longest pause before that was {longest} s"),
    later("no step for {n} s within an epoch; the longest pause before that was {longest} s"),
    later("no step for {n} s between epochs; the longest pause before that was {longest} s"),
    later("no step for {n} s after a fit; the longest pause before that was {longest} s"),
    later("{stall}; tasks are waiting for memory {n}% of the time"),
    later("{stall}; tasks are waiting for the disk {n}% of the time"),
    later("steps are running again after {n} s without a step"),
    later("SIGINT, which was sent only to this process"),
    later(
        "it returned, but its process did not exit within {n} s (a non-daemon thread?) and was"
        " terminated"
    ),
    later("the study was interrupted"),
)

_FORMS: Final = (
    # Sources of figures, and reasons why there are none.
    later("start to start"),
    later("process and children"),
    later("{process}; children: psutil"),
    later("{allocator} allocator, {device}"),
    later("{allocator} allocator, {device} in use"),
    later("{allocator} allocator, {device} peak"),
    later("{allocator} allocator, {device} limit"),
    later("{allocator} allocator, {device} in use ({sees})"),
    later("{allocator} allocator, {device} peak ({sees})"),
    later("the CPU device's allocator has no limit"),
    later(
        "step clock, start to start: the median over a whole epoch; for samples, and until the"
        " first epoch ends, the median over the current epoch so far"
    ),
    later(
        "mean step time over a whole epoch, from the start of the first step to the result "
        "of the last, because steps were queued faster than the device computed them"
    ),
    later("tensorflow: live traces"),
    later("tensorflow: registered functions"),
    later("tensorflow: registered functions and gradient registry"),
    later("tensorflow: operations of the v1 default graph"),
    later("jax: compiled programs"),
    later("jax: instructions of all compiled programs"),
    later("torch.compile: graphs captured since the start or the last reload"),
    later("torch.compile: calls captured since the start or the last reload"),
    later("process: unique set size (USS, psutil)"),
    later("process: peak working set"),
    later("process: resident set size (RSS, psutil)"),
    later("process: {file}"),
    later("process: private bytes (psutil)"),
    later(
        "process: unique set size (USS, psutil), extrapolated from the resident set size (RSS)"
        " between readings"
    ),
    later("process: {file}; children: {shares}"),
    later("process and children: Pss_File (smaps_rollup)"),
    later("children: {shares}"),
    later(
        "proportional set sizes (PSS, smaps_rollup), up to {age} old, plus what each "
        "process has allocated since"
    ),
    later("RssAnon + VmSwap of each process; pages shared by forks may be counted twice: {why}"),
    later("private bytes (psutil)"),
    later("resident set sizes (RSS, psutil)"),
    later("this system does not report file-backed pages"),
    later("cgroup: {file} less inactive_file"),
    later("cgroup: {file}, including file-backed pages"),
    later("host: total memory"),
    later("host: available memory"),
    later(
        "host: blocks in {folder}, created since the session started, that this process or its"
        " children had open at a reading; a block that was closed before counts if the run creates"
        " blocks with such names, and no other process was seen with one"
    ),
    later("used plus free space in {folder}"),
    later("driver: NVML, this process"),
    later("driver: NVML, all processes"),
    later("driver: NVML, device total"),
    later("no cgroup limits this process"),
    later("no cgroup limits this process's memory"),
    later("cgroups are a Linux feature"),
    later("no NVIDIA driver on this host"),
    later("no GPU is visible to this process (CUDA_VISIBLE_DEVICES)"),
    later("nvidia-ml-py is not installed"),
    later("the driver reports no per-process memory: {why}"),
    later("TensorFlow has not initialized its devices yet"),
    later("JAX has not initialized its devices yet"),
    later("PyTorch has not initialized the GPU yet"),
    later("nothing has been counted yet"),
    later("not read yet"),
    later("tensors of 256 KiB or more"),
    later("TensorFlow's allocator cannot be read: {why}"),
    later("PyTorch's allocator cannot be read: {why}"),
    later("JAX's allocator cannot be read: {why}"),
    later("JAX does not report the memory of {name}"),
    # Holders of traces.
    later("`{name}`: 1 trace, {operations} operations"),
    later(
        "`{name}`: 1 trace (retained for a model that no longer exists), {operations} operations"
    ),
    later("`{name}`: 1 trace (retained though no longer used), {operations} operations"),
    later("`{name}`: {n} traces, {operations} operations"),
    later(
        "`{name}`: {n} traces ({dead} of them retained for models that no longer exist),"
        " {operations} operations"
    ),
    later(
        "`{name}`: {n} traces ({dead} of them retained though no longer used),"
        " {operations} operations"
    ),
    later("1 trace in use by live models"),
    later("{n} traces in use by live models"),
    later("1 trace held by `{name}` (a tf.function in the script)"),
    later("{n} traces held by `{name}` (a tf.function in the script)"),
    later("{n} traces held by `{name}` (a tf.function in the script, {why})"),
    *(later("created {n} times"), later("created {n} times, retained in `{name}`")),
    later("{n} custom gradients whose traces are unknown"),
    later("traces cannot be counted: {why}"),
    # Causes of actions, and their results.
    later("script"),
    later("ram"),
    later("vram"),
    later("graph"),
    later("functions"),
    later("limit {metric} {amount}"),
    later(
        "{limit} is above the {amount} available to this run here, so the run may fail before it"
        " reaches the limit. Set a lower limit, or a percentage."
    ),
    *(later("command {name}"), later("save"), later("collect"), later("reload")),
    *(later("restart"), later("pause"), later("resume"), later("stop"), later("diagnose")),
    *(later("delete"), later("rename"), later("pin"), later("unpin"), later("note")),
    later("role {role} (was {name}, {before})"),
    *(later("authorize"), later("revoke"), later("role {role}"), later("set_limits")),
    *(later("viewer"), later("operator"), later("done"), later("failed"), later("refused")),
    *(later("failed: {why}"), later("expired: {why}"), later("refused: {why}")),
    *(later("done: {why}"), later("unknown: {why}")),
    later("nothing to release"),
    later("there was nothing to release"),
    later("nothing was released: the graph still has {n} operations"),
    later(
        "Keras has not created a step function for this model, so there was nothing to reload;"
        " {why}"
    ),
    later(
        "a reload would change the result: {name} computes something different when it is traced"
        " again. A value that its Python code reads during tracing, such as an attribute or a"
        " random number, has changed. Keep that value in a framework variable"
    ),
    later("the optimizer {name} ({n} variables) is not part of the model: not saved"),
    later("the state of PyTorch's optimizer {name} is not saved"),
    later(
        "values that the loop keeps in its own arrays instead of in the model's variables are"
        " not saved"
    ),
    later("the loop continues: it ignores model.stop_training, which was set to True"),
    later("the fit it was meant for had already ended"),
    later("training is not paused"),
    later("training is already paused"),
    later("the run has ended"),
    later("the training process has ended"),
    later("the training process could not be reached in time"),
    later("it was sent, but the training process never responded"),
    later("the training process ended before it responded"),
    later("the process was restarted before it responded"),
    later("it expired before a safe point was reached"),
    later("this run does not accept commands: it was started with commands=False"),
    later("this hub has no such run"),
    later("the limit was exceeded again within its cooldown"),
    later("the checkpoint could not be written: {why}"),
    # Ends of runs.
    later("out of memory"),
    later("out of memory: the kernel killed it ({how}: oom_kill)"),
    later("out of memory: the kernel killed a process on this host (oom_kill)"),
    later("killed; kmonitor cannot tell whether it ran out of memory"),
    later(
        "killed by another process, not for lack of memory: the kernel recorded no "
        "out-of-memory kills"
    ),
    later(
        "{signal}: killed by another process, not for lack of memory: the kernel recorded "
        "no out-of-memory kills"
    ),
    later(
        "{signal}: killed; the kernel recorded no out-of-memory kill in its control group "
        "({how}), but one elsewhere on this host"
    ),
    later("{signal}: killed; kmonitor cannot tell whether it ran out of memory"),
    later("{signal}: segmentation fault, often a bug in native code"),
    later("{signal}: it aborted, often after native code failed a check or ran out of memory"),
    later("{signal}: bus error, often because /dev/shm or a disk was full"),
    later("{signal}: illegal instruction, often one that this CPU does not support"),
    later("{signal}: arithmetic error in native code, often a division by zero"),
    later("{signal}: it was asked to terminate, for example, by kill, systemd or a batch system"),
    later("{signal}: it was interrupted, for example, by Ctrl+C"),
    later("{signal}: hangup, often because its terminal was closed"),
    later("{signal}, which was sent to kmonitor run"),
    later("{why}; restarting in a new process"),
    later("{why}, at its job's time limit"),
    later("it exited with status {status}"),
    later("exit status {status}"),
    later("time limit ({limit})"),
    later("the last fit failed"),
    later("the last fit was interrupted"),
    later("the last fit ended early"),
    later("the last fit failed: {why}"),
    later("the last fit was interrupted: {why}"),
    later("the last fit ended early: {why}"),
    later("ended by an exception that the script caught (an error or Ctrl+C)"),
    later("ended by an exception that the script caught (an error or Ctrl+C), or by sys.exit"),
    later("ended by an exception that the script caught (an error or Ctrl+C), {where}"),
    later(
        "ended by an exception that the script caught (an error or Ctrl+C), or by sys.exit,"
        " {where}"
    ),
    later("in epoch {n} at step {step}"),
    later("it was still running when the process ended"),
    later("restarting in a new process"),
    later("requested by {name}"),
    later("the run is lost: {why}"),
    later("its process ended unexpectedly"),
    later("its process ended unexpectedly; {what}"),
    later(
        "the kernel killed a process in its cgroup at that time because memory ran out"
        " ({how}: oom_kill)"
    ),
    later("the kernel killed a process on this host at that time because memory ran out"),
    later("the kernel recorded no out-of-memory kills"),
    later("no data for {time}; {what}"),
    later("its process is alive"),
    later("its process is gone, and what it left on disk is being read"),
    later("its process cannot be seen from here: it is in its own PID namespace (container)"),
    later("its data ends at its job's time limit"),
    later("its process on {host} cannot be seen from here"),
    # Troubles of a hub.
    later("the disk that holds {folder} is full; free some space"),
    later("the database in {folder} cannot be written to ({why})"),
    later(
        "{file} cannot be read ({why}): the previous setting applies until a new one is set "
        "({line})"
    ),
    later("{file} cannot be read ({why}): all history is kept until a new limit is set ({line})"),
    later(
        "on {time}, the database was found to be damaged and was renamed to {file}; everything "
        "readable was recovered, and the affected runs show what is missing. Remove that file to "
        "clear this message"
    ),
    later(
        "{n} stored events were damaged: {restored} were restored, and {marked} are marked as "
        "lost; check the disk and memory of this machine"
    ),
    later("damaged in the hub's database"),
    later(
        "the spool {path} cannot be read or removed ({why}): the data stays there until that is"
        " fixed"
    ),
    later(
        "{n} spools in {folder} cannot be read or removed ({why}): the data stays there until"
        " that is fixed"
    ),
    # Ways to hosts and hubs.
    later("the connection ended"),
    later("not connected yet"),
    later("the hub stopped responding"),
    later("the hub was restarted with another database"),
    later("{host} is not responding."),
    later("It may be off, asleep, or on a network that this machine cannot reach."),
    later("{host} refused the ssh connection."),
    later("Its ssh server is not running, or listens on another port (Port in ~/.ssh/config)."),
    later("Unknown host: {host}."),
    later("Check the spelling in ~/.ssh/config, and that this machine is on its network."),
    later("{host} did not accept your key."),
    later("Copy your key to it: {line}   Or unlock the key: ssh-add"),
    later("The host key of {host} is not known yet."),
    later("Check and accept it once in a terminal: {line}"),
    later(
        "The host key of {host} has changed: the host was reinstalled, or a different machine"
        " is responding under its name."
    ),
    later("kmonitor was not found on {host}. Tried: {what}"),
    later(
        "Install it there from a clone: {line}   If it is in an environment that is not"
        " activated at login, pass its path: {command}"
    ),
    later("kmonitor {version} on {host} is too old to work with the version on this machine."),
    later(
        "The kmonitor installation on {host} is too old to work with the version on this machine."
    ),
    later("Install this version there from a clone: {line}"),
    later("kmonitor {version} on {host} is too new to work with the version on this machine."),
    later("Install that version here."),
    later("On {host}: {what}"),
    later("the hub is disabled here: KMONITOR_HUB=off is set."),
    later("Unset it for non-interactive logins."),
    later("{host} does not allow socket forwarding."),
    later("Set AllowStreamLocalForwarding yes in its sshd_config."),
    later(
        "Ask its administrator whether it was reinstalled. If it was, follow the "
        "instructions printed by: {line}"
    ),
    later("Try connecting in a terminal; ssh must connect without a prompt: {line}"),
    later("The hub on {host} has stopped."),
    later("The connection to {host} was lost."),
    later("ssh is not installed on this machine."),
    later("Install it: {line}"),
    # Reasons why an alert was not delivered.
    later("The command cannot be parsed: {why}."),
    later("The command is empty."),
    later("The program was not found: {name}"),
    later(
        '"{word}" needs a shell, but the command runs without one.'
        " Use: sh -c '...', or put the command in a script."
    ),
    later("The webhook must be a URL of the form https://HOST/PATH or http://HOST/PATH."),
    later("The alert command cannot be run: {why}."),
    later("The alert command was killed: it took longer than {n} s."),
    later("The alert command exited with status {status}."),
    later("The alert command exited with status {status}. {said}"),
    later("The alert webhook at {host} rejected the alert: {why}."),
    later("The alert webhook at {host} could not be reached: {why}."),
    later("The alert webhook at {host} did not respond: {why}."),
    later("Alerts are arriving faster than they can be sent; this one was dropped."),
    *_MAP_FORMS,
    *_STUDY_FORMS,
)


def _pattern(form: str) -> re.Pattern[str]:
    parts: list[str] = []
    for literal, name, _, _ in Formatter().parse(form):
        parts.append(re.escape(literal))
        if name is not None:
            parts.append(f"(?P<{name}>.+?)")
    return re.compile("".join(parts))


_PLAIN: Final = frozenset(form for form in _FORMS if "{" not in form)

_PATTERNS: Final = tuple(
    # The longest first: a form that says less would take what another says better.
    (form, _pattern(form))
    for form in sorted(_FORMS, key=len, reverse=True)
    if "{" in form
)
