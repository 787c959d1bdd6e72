"""mpirun of Open MPI around attn, for tests."""
import os
import shutil
import signal
import subprocess
import time

ATTN = os.environ.get('ATTN', '')


def mpirun():
    return shutil.which('mpirun.openmpi') or shutil.which('mpirun')


def environment(folder='/tmp'):
    kept = {k: v for k, v in os.environ.items() if not k.startswith('ATTN_') or k == 'ATTN_ISA'}
    # Ranks share cores, and root may run them. Launchers that share a folder of their own remove it from each other.
    return kept | {'OMPI_MCA_orte_tmpdir_base': str(folder), 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1', 'ATTN_THREADS': '1',
                   'OMPI_MCA_rmaps_base_oversubscribe': '1', 'OMPI_MCA_mpi_yield_when_idle': '1',
                   'OMPI_MCA_btl': 'self,vader', 'OMPI_MCA_hwloc_base_binding_policy': 'none'}


def start(ranks, *words, folder):
    return subprocess.Popen([mpirun(), '-np', str(ranks), *words], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def run(ranks, *words, folder):
    process = start(ranks, ATTN, *words, folder=folder)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def alone(*words, folder):
    """Runs one process without a launcher."""
    return subprocess.run([ATTN, *words], cwd=folder, env=environment(), capture_output=True, text=True)


def sentences(err):
    return [line for line in err.splitlines() if line.startswith('attn: error: ')]


def ranks_of(process):
    """Returns the process ids of attn under mpirun."""
    done = subprocess.run(['ps', '-o', 'pid=,args=', '--ppid', str(process.pid)], capture_output=True, text=True)
    return sorted(int(line.split()[0]) for line in done.stdout.splitlines() if ATTN in line)


def wait_for_ranks(process, count):
    """Waits until all ranks have started, and returns their process ids."""
    deadline = time.monotonic() + 60
    while len(ranks_of(process)) < count and time.monotonic() < deadline:
        time.sleep(0.02)
    return ranks_of(process)


def compute_for(pids, seconds):
    """Waits until each process has used this much processor time."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(os.path.exists(f'/proc/{pid}') and computed(pid) < seconds for pid in pids):
        time.sleep(0.02)


def computed(pid):
    with open(f'/proc/{pid}/stat') as file:
        user, system = file.read().rpartition(')')[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf('SC_CLK_TCK')


def gone(pids, seconds=5):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(os.path.exists(f'/proc/{pid}') for pid in pids):
        time.sleep(0.05)
    return not any(os.path.exists(f'/proc/{pid}') for pid in pids)


def wake(pids):
    for pid in pids:
        if os.path.exists(f'/proc/{pid}'):
            os.kill(pid, signal.SIGCONT)
