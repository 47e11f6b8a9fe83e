"""Fixtures of a hub: its process, and its parts in this process.

Proof of each row of the fault matrix (files without a folder are here):

| fault | proved by |
|---|---|
| hub never exists | test_agent_process (`with_no_hub`), benchmarks/bench_delivery |
| hub killed in a loop | test_hub_storms, test_hub_kills, test_agent_hub |
| hub stopped; its loop hangs, its sockets live | test_hub_storms, test_agent_hub |
| link down, DROP, RST, 30% loss | test_link_cuts |
| WAL cut, database deleted, put back, damaged | test_hub_kills, test_agent_hub |
| agent killed | test_agent_process, test_hub_dead_process, test_hub_spools |
| any call of the agent into the system or a library fails; allocations fail | test_every_call |
| agent out of memory | kmonitor_agent/reclaim/restart/test_memory_kill |
| disk full, read-only | test_agent_disk, test_hub_disk_full |
| disk hangs | kmonitor_agent/link/test_link |
| torn or corrupt spool | test_agent_process, test_agent_disk, kmonitor_agent/wire/spool |
| torn spool taken by a hub | kmonitor/hub/ingest/test_spools |
| poison event | test_agent_hub, kmonitor_agent/link/test_send_window |
| every way a process can end, fork | test_agent_process |
| wall clock jumps | kmonitor/hub/views/test_commands, kmonitor/hub/ingest/test_liveness |
| restarts amid a command | test_command_storms, kmonitor/hub/views/test_commands |
| command twice, late, replayed | kmonitor_agent/link/test_command_inbox |
| unknown, revoked, wrong key; dead doorkeeper; no keys | test_direct_access |
| another local user | test_direct_access, test_hub_places |
| raw fuzz, slow handshakes, descriptors, endless frames | test_hub_floods, test_hub_hostile |
| frozen viewer | test_frozen_viewer |
| ssh dies, server freezes | kmonitor/connect/test_ssh_hosts |
| older and newer versions | test_version_skew, kmonitor_agent/wire/messages/test_golden_frames |
| all of it for long | test_soak |
"""

from tests.support.direct_hub import listening_hub
from tests.support.hub_parts import parts
from tests.support.live_hub import client, idle_hub, live_hub

__all__ = ["client", "idle_hub", "listening_hub", "live_hub", "parts"]
