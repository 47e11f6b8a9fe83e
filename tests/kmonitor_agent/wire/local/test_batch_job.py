"""Job, rank and time limit from what schedulers and launchers leave in the environment."""

import json

import pytest

from kmonitor_agent.recording.process_facts import default_run_name
from kmonitor_agent.wire.local.batch_job import BatchJob, find_batch_job

SLURM = {"SLURM_JOB_ID": "1234", "SLURM_JOB_NAME": "train"}
STEP = {**SLURM, "SLURM_STEP_ID": "0", "SLURM_PROCID": "2", "SLURM_NTASKS": "4"}
CLUSTER = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}


def tf_config(kind: str, index: int) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": CLUSTER, "task": {"type": kind, "index": index}})}


def test_outside_of_a_job_there_is_nothing():
    assert find_batch_job({}) == BatchJob()
    assert find_batch_job({"JOB_ID": "of something else"}) == BatchJob()


def test_a_slurm_step_has_job_rank_and_end():
    found = find_batch_job({**STEP, "SLURM_JOB_END_TIME": "1800000000"})

    assert found == BatchJob("slurm", "1234", "train", 1.8e9, 2, 4, "slurm 1234.0")
    assert found.label == "slurm 1234"


def test_a_batch_script_is_not_one_of_its_tasks():
    found = find_batch_job({**SLURM, "SLURM_PROCID": "0", "SLURM_NTASKS": "4"})

    assert (found.rank, found.world_size, found.group) == (None, 0, "")


def test_the_only_task_is_no_rank():
    assert find_batch_job({**STEP, "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}).rank is None


def test_a_task_of_an_array_is_named_by_both_numbers():
    array = {"SLURM_ARRAY_JOB_ID": "77", "SLURM_ARRAY_TASK_ID": "3"}

    assert find_batch_job({**SLURM, **array}).id == "77_3"


@pytest.mark.parametrize(
    ("environ", "rank", "size"),
    [
        ({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1"}, 1, 2),
        ({"RANK": "1", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "abc"}, 1, 2),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8", "PMIX_NAMESPACE": "n"}, 3, 8),
        ({"PMI_RANK": "0", "PMI_SIZE": "2", "PMI_JOBID": "7"}, 0, 2),
        (tf_config("chief", 0), 0, 4),
        (tf_config("worker", 1), 2, 4),
        (tf_config("ps", 0), 3, 4),
    ],
)
def test_launchers_tell_rank_and_size(environ: dict[str, str], rank: int, size: int):
    found = find_batch_job(environ)

    assert (found.rank, found.world_size) == (rank, size)
    assert found.group


def test_workers_of_one_cluster_are_one_group():
    groups = {find_batch_job(tf_config("worker", index)).group for index in (0, 1)}

    assert len(groups) == 1


@pytest.mark.parametrize(
    "config",
    [
        "{",
        "[]",
        "{}",
        '{"cluster": {}, "task": {"type": "x", "index": 0}}',
        '"text"',
        "1",
        "[" * 9,
    ],
)
def test_a_tf_config_that_says_nothing_is_passed_over(config: str):
    assert find_batch_job({"TF_CONFIG": config}) == BatchJob()


@pytest.mark.parametrize("rank", ["", "-1", "x", "\u0663", "9" * 99, "2"])
def test_a_rank_that_is_none_is_none(rank: str):
    assert find_batch_job({"RANK": rank, "WORLD_SIZE": "2"}).rank is None


def test_a_run_in_a_job_is_named_after_it():
    assert default_run_name(SLURM) == "job 1234 \N{MIDDLE DOT} train"


def test_an_interactive_job_says_what_runs_in_it():
    name = default_run_name({**SLURM, "SLURM_JOB_NAME": "bash"})

    assert name.startswith("job 1234 \N{MIDDLE DOT} ")
    assert "bash" not in name
