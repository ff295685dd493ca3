// What the interpreter costs: scalar instructions, calls of operators, calls of functions, attributes, emission.
//
//   cresset-interpreter-bench          prints ns of processor time per operation, the best of several rounds
#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <sstream>
#include <string>

#include "cresset/interpreter/interpreter.h"
#include "cresset/ir/parser.h"
#include "cresset/ops/object_slots.h"
#include "cresset/ops/operator.h"
#include "cresset/program/program.h"

using namespace cresset;

namespace {

/// The thread's processor time: all of this is one thread's work, and so a busy machine disturbs less.
double threadTime() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e9 + double(time.tv_nsec);
}

double best(const std::function<void()>& work, double operations, int rounds = 15) {
  double result = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const double start = threadTime();
    work();
    result = std::min(result, (threadTime() - start) / operations);
  }
  return result;
}

void report(const char* what, double ns) {
  std::printf("%-58s %9.2f ns\n", what, ns);
}

std::shared_ptr<const Code> emit(const std::string& text) {
  return emitCode(parseGraph(text), "bench");
}

std::string loopOver(const std::string& body, const std::string& parameters = "") {
  return "graph(%n : int" + parameters +
         "):\n"
         "  %true : bool = prim::Constant[value=1]()\n  %one : int = prim::Constant[value=1]()\n"
         "  %zero : int = prim::Constant[value=0]()\n"
         "  %r : int = prim::Loop(%n, %true, %zero)\n    block0(%i : int, %x : int):\n" +
         body + "      -> (%true, %y)\n  return (%r)\n";
}

constexpr const char* kCollatz = R"(
graph(%n : int):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %three : int = prim::Constant[value=3]()
  %max : int = prim::Constant[value=9223372036854775807]()
  %true : bool = prim::Constant[value=1]()
  %total : int = prim::Loop(%n, %true, %zero)
    block0(%j : int, %t : int):
      %first : int = aten::add(%j, %one)
      %start : bool = aten::gt(%first, %one)
      %last : int, %steps : int = prim::Loop(%max, %start, %first, %t)
        block0(%i : int, %x : int, %s : int):
          %r : int = aten::remainder(%x, %two)
          %even : bool = aten::eq(%r, %zero)
          %next : int = prim::If(%even)
            block0():
              %half : int = aten::floordiv(%x, %two)
              -> (%half)
            block1():
              %y : int = aten::mul(%x, %three)
              %z : int = aten::add(%y, %one)
              -> (%z)
          %s2 : int = aten::add(%s, %one)
          %go : bool = aten::gt(%next, %one)
          -> (%go, %next, %s2)
      -> (%true, %steps)
  return (%total)
)";

void scalars() {
  auto collatz = emit(kCollatz);
  Stack stack{int64_t(3000)};
  runCode(*collatz, stack);
  // remainder, ==/jump, (// | *, +), add, >/jump: 5.3 nodes a step on average, jumps counted with their comparisons
  const double steps = double(stack[0].toInt());
  const double ns = best(
      [&] {
        Stack s{int64_t(3000)};
        runCode(*collatz, s);
      },
      steps);
  report("Collatz, one step", ns);
  report("Collatz, one scalar node (5.3 a step)", ns / 5.3);
  auto adds =
      emit(loopOver("      %a : int = aten::add(%x, %one)\n      %b : int = aten::add(%a, %i)\n"
                    "      %c : int = aten::mul(%b, %one)\n      %y : int = aten::sub(%c, %i)\n"));
  report(
      "loop of 4 int operations, one of 5 instructions", best(
                                                             [&] {
                                                               Stack s{int64_t(100000)};
                                                               runCode(*adds, s);
                                                             },
                                                             500000));
  auto empty = emit(loopOver("      %y : int = aten::add(%x, %one)\n"));
  report(
      "loop of one addition, one iteration", best(
                                                 [&] {
                                                   Stack s{int64_t(100000)};
                                                   runCode(*empty, s);
                                                 },
                                                 100000));
}

void containers() {
  auto measure = [](const char* what, const std::string& body) {
    auto code = emit(loopOver("      %y : int = aten::add(%x, %one)\n" + body, ", %l : int[], %d : Dict(int, int)"));
    report(
        what, best(
                  [&] {
                    c10::impl::GenericList list(c10::IntType::get());
                    c10::impl::GenericDict dict(c10::IntType::get(), c10::IntType::get());
                    list.push_back(int64_t(1));
                    dict.insert(int64_t(0), int64_t(1));
                    Stack s{int64_t(20000), list, dict};
                    runCode(*code, s);
                  },
                  20000));
  };
  measure("loop iteration with list[0]", "      %e : int = aten::__getitem__(%l, %zero)\n");
  measure("loop iteration with list[0] = i", "      %e : int[] = aten::_set_item(%l, %zero, %i)\n");
  measure("loop iteration with list.append(i)", "      %e : int[] = aten::append(%l, %i)\n");
  measure("loop iteration with dict[0]", "      %e : int = aten::__getitem__(%d, %zero)\n");
  measure("loop iteration with dict[0] = i", "       = aten::_set_item(%d, %zero, %i)\n");
  measure("loop iteration with 0 in dict", "      %e : bool = aten::__contains__(%d, %zero)\n");
}

void operators() {
  const at::Tensor x = at::ones({64});
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow("aten::relu", "");
  const double boxed = best(
      [&] {
        Stack s;
        s.emplace_back(x);
        for (int i = 0; i < 1000; ++i) handle.callBoxed(s);
      },
      1000, 60);
  report("relu of 64 floats, callBoxed", boxed);
  std::ostringstream text;
  text << "graph(%x0 : Tensor):\n";
  for (int i = 0; i < 1000; ++i) text << "  %x" << i + 1 << " : Tensor = aten::relu(%x" << i << ")\n";
  text << "  return (%x1000)\n";
  auto code = emit(text.str());
  const double ours = best(
      [&] {
        Stack s{x};
        runCode(*code, s);
      },
      1000, 60);
  report("relu of 64 floats, in a chain of 1000", ours);
  report("  on top of callBoxed", ours - boxed);
}

void calls() {
  auto program = Program::make();
  auto type = c10::ClassType::create("C", program->asCompilationUnit(), true);
  type->addAttribute("n", c10::IntType::get());
  program->registerType(type);
  ParseOptions options{.types = [&](const std::string& name) -> TypePtr { return program->findType(name); }};
  program->declare("f", [&](Function& f) { f.setGraph(parseGraph("graph(%x : int):\n  return (%x)\n")); });
  type->addMethod(&program->declare(
      "C.m", [&](Function& f) { f.setGraph(parseGraph("graph(%self : C, %x : int):\n  return (%x)\n", options)); }));
  auto object = c10::ivalue::Object::create(c10::StrongTypePtr(type->compilation_unit(), type), 1);
  writeSlot(*object, 0, int64_t(1));

  options.functions = [&](const std::string& name) { return program->findFunction(name); };
  auto graph = parseGraph(
      loopOver("      %f : Function = prim::Constant[name=\"f\"]()\n"
               "      %y : int = prim::CallFunction(%f, %x)\n"),
      options);
  auto call = emitCode(graph, "bench");
  report(
      "loop iteration with a call of a function", best(
                                                      [&] {
                                                        Stack s{int64_t(10000)};
                                                        runCode(*call, s);
                                                      },
                                                      10000));
  auto method = emitCode(
      parseGraph(loopOver("      %y : int = prim::CallMethod[name=\"m\"](%o, %x)\n", ", %o : C"), options), "bench");
  report(
      "loop iteration with a call of a method", best(
                                                    [&] {
                                                      Stack s{int64_t(10000), object};
                                                      runCode(*method, s);
                                                    },
                                                    10000));
  auto attribute =
      emitCode(parseGraph(loopOver("      %y : int = prim::GetAttr[name=\"n\"](%o)\n", ", %o : C"), options), "bench");
  report(
      "loop iteration with a read of an attribute", best(
                                                        [&] {
                                                          Stack s{int64_t(100000), object};
                                                          runCode(*attribute, s);
                                                        },
                                                        100000));
  report(
      "readSlot", best(
                      [&] {
                        for (int i = 0; i < 100000; ++i) readSlot(*object, 0);
                      },
                      100000));
  auto nothing = emit("graph(%x : int):\n  return (%x)\n");
  report(
      "runCode of an empty function", best(
                                          [&] {
                                            Stack s;
                                            for (int i = 0; i < 10000; ++i) {
                                              s.emplace_back(int64_t(1));
                                              runCode(*nothing, s);
                                              s.clear();
                                            }
                                          },
                                          10000));
}

void emission() {
  for (int nodes : {1000, 10000, 100000}) {
    std::ostringstream text;
    text << "graph(%x0 : Tensor):\n";
    for (int i = 0; i < nodes; ++i) text << "  %x" << i + 1 << " : Tensor = aten::relu(%x" << i << ")\n";
    text << "  return (%x" << nodes << ")\n";
    auto graph = parseGraph(text.str());
    emitCode(graph, "bench");  // binds operators
    const std::string what = "emission of " + std::to_string(nodes) + " nodes, each";
    report(what.c_str(), best([&] { emitCode(graph, "bench"); }, nodes, 5));
  }
}

}  // namespace

int main() {
  scalars();
  containers();
  operators();
  calls();
  emission();
}
