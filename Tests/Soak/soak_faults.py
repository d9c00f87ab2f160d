"""The library that makes system calls fail at random: Tests/Faults/faults.c, compiled on use."""
import mmap
import os
import shutil
import struct
import subprocess

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Faults", "faults.c")
RECORD = struct.Struct("24sQ")


class Faults:
    """Faults in processes started with `environment`, at a rate that can be changed while they run."""

    def __init__(self, library, path, seed):
        self.library, self.path, self.seed = library, path, seed

    @property
    def environment(self):
        return {**os.environ, "LD_PRELOAD": self.library, "FAULTS": self.path, "FAULTS_SEED": str(self.seed)}

    def set(self, rate):
        """Sets the number of faults per million calls."""
        with open(self.path, "r+b") as file, mmap.mmap(file.fileno(), 0) as map:
            map[:8] = struct.pack("Q", rate)

    def counts(self):
        data = open(self.path, "rb").read()[8:]
        records = [RECORD.unpack_from(data, at) for at in range(0, len(data), RECORD.size)]
        return {name.rstrip(b"\0").decode(): count for name, count in records}


def build(folder):
    library = f"{folder}/faults.so"
    compiler = shutil.which("gcc") or shutil.which("clang") or "cc"
    subprocess.run([compiler, "-Wall", "-O2", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    return library
