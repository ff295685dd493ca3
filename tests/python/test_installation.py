"""What `cmake --install` leaves, and programs that find it."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import torch

import cresset

BUILD = Path(cresset.__file__).parent.parent.parent

CMAKE = """
cmake_minimum_required(VERSION 3.24)
project(User LANGUAGES CXX)
find_package(Cresset REQUIRED)
add_executable(user main.cpp)
target_link_libraries(user PRIVATE Cresset::cresset)
message(STATUS "libtorch is ${Libtorch_ROOT}")
"""

MAIN = """
#include <cresset/cresset.h>
#include <torch/torch.h>
#include <iostream>

int main() {
  cresset::CompilationUnit unit;
  unit.define("def f(x: Tensor):\\n  return x + 1\\n");
  std::cout << unit.run_method("f", torch::ones({2})).toTensor().sum().item<float>();
}
"""


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    if not (BUILD / "cmake_install.cmake").exists():
        pytest.skip("runs from the folder of a build")
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder], check=True, capture_output=True)
    return folder


def test_what_is_installed(prefix):
    names = {path.name for path in (prefix / "bin").iterdir()}
    assert names == {"cresset", "cresset-opt"}
    assert not list(prefix.rglob("_C*.so")), "an extension without its Python files"
    assert (prefix / "include" / "cresset" / "cresset.h").exists()
    for command in names:
        done = subprocess.run([prefix / "bin" / command, "--version"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def configure(folder, *options):
    """Configures a program where no Python works."""
    tools = folder / "tools"
    tools.mkdir(parents=True)
    for name in ("python", "python3"):
        (tools / name).write_text("#!/bin/sh\nexit 1\n")
        (tools / name).chmod(0o755)
    (folder / "CMakeLists.txt").write_text(CMAKE)
    (folder / "main.cpp").write_text(MAIN)
    env = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")
    env.pop("CMAKE_PREFIX_PATH", None)
    command = ["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", *options]
    return subprocess.run(command, capture_output=True, text=True, env=env)


def test_libtorch_is_found(prefix, tmp_path):
    root = os.path.realpath(Path(torch.__file__).parent)

    def found(name, *prefixes, **options):
        words = [f"-DCMAKE_PREFIX_PATH={';'.join(map(str, prefixes))}"]
        words += [f"-D{key}={value}" for key, value in options.items()]
        done = configure(tmp_path / name, *words)
        assert done.returncode == 0, done.stderr
        return os.path.realpath(re.search("libtorch is (.*)", done.stdout)[1])

    assert found("default", prefix) == root
    other = tmp_path / "other"
    other.symlink_to(root)
    assert found("prefix", prefix, torch.utils.cmake_prefix_path) == root
    assert found("folder", other, prefix) == root
    assert found("root", prefix, Libtorch_ROOT=root) == root


def test_another_version_of_libtorch_is_refused(prefix, tmp_path):
    fake = tmp_path / "libtorch"
    for file in ("include/ATen/core/ivalue.h", "lib/libtorch_cpu.so", "lib/libc10.so"):
        (fake / file).parent.mkdir(parents=True, exist_ok=True)
        (fake / file).touch()
    version = fake / "include/torch/headeronly/version.h"
    version.parent.mkdir(parents=True)
    version.write_text("".join(f"#define TORCH_VERSION_{part} 1\n" for part in ("MAJOR", "MINOR", "PATCH")))
    done = configure(tmp_path / "program", f"-DCMAKE_PREFIX_PATH={prefix};{fake}")
    assert done.returncode != 0
    assert re.search(r'Found\s+unsuitable\s+version\s+"1\.1\.1"', done.stderr), done.stderr


def test_a_program_of_torchs_headers_builds_and_runs(prefix, tmp_path):
    done = configure(tmp_path / "program", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-O0")
    assert done.returncode == 0, done.stderr
    done = subprocess.run(["cmake", "--build", tmp_path / "program" / "build"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([tmp_path / "program" / "build" / "user"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "4"), done.stderr
