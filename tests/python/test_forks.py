"""fork and wait: on threads, inside each other, across exceptions, processes and the end of the process."""

import subprocess
import sys
import textwrap
import threading
import time

import pytest
import torch

import cresset

SOURCE = """
def spin(n: int) -> int:
    i = 0
    while i < n:
        i += 1
    return i

def two(n: int) -> int:
    a = torch.jit.fork(spin, n)
    b = torch.jit.fork(spin, n)
    return torch.jit.wait(a) + torch.jit.wait(b)

def fail(x: int) -> int:
    if x > 0:
        raise ValueError("too much")
    return x

def fail_forked(x: int) -> int:
    return torch.jit.wait(torch.jit.fork(fail, x))

def work(x):
    return x + 1

def start(x):
    return torch.jit.fork(work, x)

def finish(f: Future[Tensor]) -> Tensor:
    return torch.jit.wait(f)

def grad_enabled() -> bool:
    return torch.is_grad_enabled()

def grad_enabled_forked() -> bool:
    return torch.jit.wait(torch.jit.fork(grad_enabled))

def matmul(x: Tensor) -> Tensor:
    return torch.mm(x, x)

def matmul_forked(x: Tensor) -> Tensor:
    return torch.jit.wait(torch.jit.fork(matmul, x))
"""
X = torch.ones(2, 2)


@pytest.fixture(scope="module")
def unit():
    return cresset.CompilationUnit(SOURCE)


def in_process(code):
    """Runs Python code in a process of its own, whose pool nobody has used."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_two_forks_overlap_in_time(unit):
    # On one processor they would alternate, so the proof is that both are alive at once: each waits for the other.
    met = []

    def meet(name, other):
        def callback(future):
            met.append(name)
            end = time.monotonic() + 10
            while other not in met and time.monotonic() < end:
                time.sleep(0.001)
            return 1

        return callback

    if cresset.get_num_fork_threads() < 2:
        pytest.skip("one thread for forks")
    # The gate is completed only when both forks have been started; the callbacks run on the threads of their forks.
    futures = [cresset.fork(unit.spin, 3_000_000).then(meet(name, other)) for name, other in ("ab", "ba")]
    assert [f.wait() for f in futures] == [1, 1]
    assert sorted(met) == ["a", "b"]
    assert unit.two(1000) == 2000


def test_ten_thousand_forks_inside_each_other_on_one_thread():
    out = in_process("""
        import cresset
        cresset.set_num_fork_threads(1)
        cu = cresset.CompilationUnit(
            "def down(n: int) -> int:\\n"
            "  return 0 if n == 0 else torch.jit.wait(torch.jit.fork(down, n - 1)) + 1\\n"
        )
        print(cu.down(10000), cresset.get_num_fork_threads())
        try:
            cresset.set_num_fork_threads(2)
        except cresset.UserError as error:
            print(error)
    """)
    assert out.startswith("10000 1\nThe number of threads for forks can't be set any more")


def test_the_number_of_threads_follows_pytorch():
    out = in_process("""
        import torch, cresset
        torch.set_num_interop_threads(3)
        print(cresset.get_num_fork_threads())
        cresset.set_num_fork_threads(5)
        print(cresset.get_num_fork_threads())
        cresset.set_num_fork_threads(0)
        print(cresset.get_num_fork_threads())
    """)
    assert out.split() == ["3", "5", "3"]


def test_forks_nobody_waits_for_are_dropped_at_exit():
    in_process("""
        import cresset
        cu = cresset.CompilationUnit(
            "def forever(n: int) -> int:\\n"
            "  while n > 0:\\n"
            "    n += 1\\n"
            "  return n\\n"
            "def start(k: int) -> int:\\n"
            "  for i in range(k):\\n"
            "    torch.jit.fork(forever, 1)\\n"
            "  return k\\n"
        )
        keep = [cresset.fork(cu.forever, 1).then(lambda f: 1) for _ in range(3)]
        cu.start(20)
    """)


def test_a_forked_process_gets_its_own_threads():
    out = in_process("""
        import os, sys, warnings, cresset
        warnings.simplefilter("ignore")  # Python 3.12 warns of forks in a process that has threads
        cu = cresset.CompilationUnit("def f(x: int) -> int:\\n  return x + 1\\ndef g(x: int) -> int:\\n"
                                     "  return torch.jit.wait(torch.jit.fork(f, x))\\n")
        assert cu.g(1) == 2  # the parent's threads run
        child = os.fork()
        if child == 0:
            assert cu.g(2) == 3
            assert cresset.fork(cu.f, 3).wait() == 4
            print("child done", flush=True)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print("parent", cu.g(4))
    """)
    assert out == "child done\nparent 5\n"


def test_grad_mode_inference_mode_and_autocast_follow(unit):
    assert unit.grad_enabled_forked() is True
    with torch.no_grad():
        assert unit.grad_enabled_forked() is False
        future = cresset.fork(unit.grad_enabled)
    assert future.wait() is False
    with torch.inference_mode():
        assert unit.matmul_forked(X).is_inference() and cresset.fork(unit.matmul, X).wait().is_inference()
    assert not unit.matmul_forked(X).is_inference()
    for dtype in (torch.bfloat16, torch.float16):  # the second is not the default of the thread that runs the fork
        with torch.autocast("cpu", dtype=dtype):
            assert unit.matmul(X).dtype is dtype
            assert unit.matmul_forked(X).dtype is dtype
            assert cresset.fork(unit.matmul, X).wait().dtype is dtype
    assert unit.matmul_forked(X).dtype is torch.float32


def test_gradients_flow_through_forks(unit):
    x = torch.ones(2, 2, requires_grad=True)
    unit.matmul_forked(x).sum().backward()
    assert torch.equal(x.grad, torch.full((2, 2), 4.0))


def test_an_exception_surfaces_at_wait(unit):
    assert unit.fail_forked(0) == 0
    with pytest.raises(ValueError, match="too much") as caught:
        unit.fail_forked(1)
    assert [frame[0] for frame in caught.value.frames] == ["fail_forked", "<forked function>", "fail"]
    future = cresset.fork(unit.fail, 1)
    for ask in (future.wait, lambda: cresset.wait(future), future.value):
        with pytest.raises(ValueError, match="too much"):
            ask()
    assert future.done()
    with pytest.raises(RuntimeError, match="value"):
        cresset.Future().value()


def test_futures_as_torch_has_them(unit):
    for make in (cresset.Future, torch.jit.Future):
        future, seen = make(), []
        assert not future.done()
        second = future.then(lambda f: f.value() + 1)
        future.add_done_callback(lambda f: seen.append(f.value()))
        future.set_result(41)
        assert future.done() and future.wait() == future.value() == 41
        assert second.wait() == 42 and seen == [41]
        assert future.then(lambda f: f.wait()).wait() == 41  # done already: called at once
        with pytest.raises(RuntimeError):
            future.set_result(1)
        with pytest.raises(Exception, match="inside"):
            future.then(lambda f: (_ for _ in ()).throw(ValueError("inside"))).wait()
    failed = cresset.Future()
    failed.set_exception(KeyError("k"))
    with pytest.raises(KeyError, match="k"):
        failed.wait()
    with pytest.raises(TypeError):
        failed.set_exception("no exception")


def test_python_completes_a_future_that_a_script_waits_for(unit):
    future = cresset.Future()
    waiting = cresset.fork(unit.finish, future)
    assert not waiting.done()
    threading.Timer(0.05, lambda: future.set_result(X + 1)).start()
    assert torch.equal(waiting.wait(), X + 1)
    wrong = cresset.Future()
    wrong.set_result("text")
    with pytest.raises(RuntimeError, match="expected a Future of Tensor"):
        unit.finish(wrong)


def test_a_callback_may_wait_for_another_fork_on_the_same_thread():
    out = in_process("""
        import cresset
        cresset.set_num_fork_threads(1)
        cu = cresset.CompilationUnit("def f(x: int) -> int:\\n  return x + 1\\n")
        print(cresset.fork(cu.f, 1).then(lambda f: f.value() + cresset.fork(cu.f, 10).wait()).wait())
    """)
    assert out == "13\n"


def test_plain_python_and_modules():
    assert cresset.wait(cresset.fork(lambda a, b=1: a + b, 1, b=2)) == 3
    future = cresset.fork(lambda: 1 // 0)
    assert future.done()
    with pytest.raises(ZeroDivisionError):
        future.wait()


def test_arguments_are_bound_at_once(unit):
    assert cresset.fork(unit.fail, x=0).wait() == 0
    with pytest.raises(RuntimeError, match="missing value for argument 'x'"):
        cresset.fork(unit.fail)


def test_waiting_is_interruptible(unit):
    import signal

    future = cresset.Future()
    threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGINT)).start()
    late = threading.Timer(60, lambda: future.set_result(None))  # so that a wait that is not interrupted ends, too
    late.start()
    with pytest.raises(KeyboardInterrupt):
        future.wait()
    late.cancel()
    assert not future.done()


def test_many_python_threads_fork_at_once(unit):
    wrong = []

    def run(k):
        for i in range(50):
            if unit.fail_forked(-i) != -i or cresset.fork(unit.fail, -k).wait() != -k:
                wrong.append(i)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong
