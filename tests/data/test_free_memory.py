"""How much memory is free, on machines and in containers of all kinds."""

from __future__ import annotations

import pytest

from rankloop.data.memory import free_memory

GB = 2**30


@pytest.fixture
def machine(tmp_path):
    """Write files below /proc and /sys/fs/cgroup; 16 GB are available."""

    def write(**files):
        files = {"proc/meminfo": f"MemFree: 1 kB\nMemAvailable: {16 * GB // 1024} kB\n", **files}
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return free_memory(tmp_path / "proc", tmp_path / "groups")

    return write


def v2(path, limit, used, cached=0):
    return {
        f"groups/{path}memory.max": f"{limit}\n",
        f"groups/{path}memory.current": f"{used}\n",
        f"groups/{path}memory.stat": f"anon 5\ninactive_file {cached}\nactive_file {cached}\n",
    }


def v1(path, limit, used, cached=0):
    return {
        f"groups/memory/{path}memory.limit_in_bytes": f"{limit}\n",
        f"groups/memory/{path}memory.usage_in_bytes": f"{used}\n",
        f"groups/memory/{path}memory.stat": (
            f"inactive_file 7\ntotal_inactive_file {cached}\ntotal_active_file {cached}\n"
        ),
    }


def test_without_groups_it_is_what_the_kernel_says(machine):
    assert machine() == 16 * GB


def test_a_container_of_version_2_sees_its_own_limit(machine):
    group = {"proc/self/cgroup": "0::/\n"}
    assert machine(**group, **v2("", 4 * GB, GB)) == 3 * GB
    assert machine(**group, **v2("", 4 * GB, 4 * GB, cached=GB)) == 2 * GB  # files can go
    assert machine(**group, **v2("", "max", GB)) == 16 * GB
    assert machine(**group, **v2("", GB, 2 * GB)) == 0


def test_every_group_above_the_process_counts(machine):
    files = {"proc/self/cgroup": "0::/user.slice/user-1000.slice/job.scope\n"}
    files |= v2("user.slice/user-1000.slice/job.scope/", "max", 0)
    files |= v2("user.slice/user-1000.slice/", 8 * GB, 6 * GB)
    files |= v2("user.slice/", 12 * GB, 7 * GB)
    files |= v2("other.slice/", GB, GB)
    assert machine(**files) == 2 * GB


def test_version_1(machine):
    files = {"proc/self/cgroup": "9:cpu,cpuacct:/a\n4:memory:/batch/job\n0::/\n"}
    assert machine(**files) == 16 * GB
    assert machine(**files, **v1("", 2**63 - 4096, 9 * GB)) == 16 * GB  # as it writes "none"
    assert machine(**files, **v1("batch/job/", 5 * GB, 4 * GB, cached=GB)) == 3 * GB


def test_versions_side_by_side(machine):
    files = {"proc/self/cgroup": "1:name=systemd:/\n0::/job\n"}
    assert machine(**files, **v2("unified/job/", 3 * GB, GB)) == 2 * GB


def test_where_nothing_is_known_it_is_what_the_machine_has(tmp_path):
    assert free_memory(tmp_path, tmp_path) > 2**26


def test_this_machine():
    assert 2**20 < free_memory() < 2**60
