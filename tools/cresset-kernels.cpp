// cresset-kernels: makes the kernels of libcresset_kernels (codegen/ahead_of_time.h) while Cresset is built.
//
//   cresset-kernels table FILE         C++ source of the table; a file that says the same already stays as it is
//   cresset-kernels object LEVEL FILE  the machine code for v3 or v4
//   cresset-kernels list               their hashes and heads, for tests
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

#include "cresset/codegen/ahead_of_time.h"
#include "cresset/codegen/compiler.h"
#include "cresset/codegen/operator_kernels.h"
#include "cresset/ops/operator_rows.h"

namespace cresset::codegen {

namespace {

std::string functionName(const KernelHash& hash, const std::string& level) {
  return "cresset_kernel_" + hash.toString() + "_" + level;
}

void addKernels(const OperatorKernels& kernels, std::map<KernelHash, Kernel>& all) {
  for (size_t form = 0; form < kernels.numForms(); ++form) {
    for (const at::ScalarType dtype : OperatorKernels::kDtypes) {
      if (!kernels.hasOwnBits(form, dtype)) continue;
      for (const Step step : {Step::Next, Step::Any}) {
        Kernel kernel = kernels.kernel(form, dtype, step);
        all.emplace(KernelHash::of(kernel), std::move(kernel));
      }
    }
  }
}

std::map<KernelHash, Kernel> allKernels() {
  std::map<KernelHash, Kernel> all;
  for (const OperatorRow& row : operatorRows()) {
    const Operator* op = row.scalar.empty() ? nullptr : OperatorTable::get().find(row.name);
    if (const OperatorKernels* kernels = op ? OperatorKernels::of(*op) : nullptr) addKernels(*kernels, all);
  }
  return all;
}

std::string table() {
  std::ostringstream functions, entries;
  const auto all = allKernels();
  for (const auto& [hash, kernel] : all) {
    const std::string v3 = functionName(hash, "v3"), v4 = functionName(hash, "v4");
    for (const std::string& name : {v3, v4})
      functions << "int " << name
                << "(\n    void* const*, const int64_t*, const int64_t*, const uint64_t*, int64_t, int64_t);\n";
    entries << "    {{" << hash.high << "u, " << hash.low << "u}, " << v3 << ", " << v4 << "},\n";
  }
  return "// Made by cresset-kernels.\n#include \"cresset/codegen/ahead_of_time.h\"\n\nextern \"C\" {\n" +
         functions.str() + "}\n\nnamespace {\n\nconstexpr cresset::codegen::AheadOfTimeKernel kKernels[] = {\n" +
         entries.str() +
         "};\n\n}  // namespace\n\n"
         "extern \"C\" __attribute__((visibility(\"default\"))) cresset::codegen::AheadOfTimeKernels "
         "cresset_ahead_of_time_kernels() {\n  return {kKernels, " +
         std::to_string(all.size()) + "};\n}\n";
}

void write(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) throw std::runtime_error("can't write " + file);
}

void writeTable(const std::string& file) {
  std::ifstream before(file, std::ios::binary);
  const std::string text = table();
  if (std::string(std::istreambuf_iterator<char>(before), {}) != text) write(file, text);
}

void writeObject(const std::string& level, const std::string& file) {
  if (level != "v3" && level != "v4") throw std::runtime_error("levels are v3 and v4, not " + level);
  std::vector<NamedKernel> kernels;
  for (const auto& [hash, kernel] : allKernels()) kernels.push_back({functionName(hash, level), kernel});
  const auto bytes = compilerOfObjects().object(kernels, level == "v4" ? CpuLevel::V4 : CpuLevel::V3);
  write(file, {bytes.begin(), bytes.end()});
}

void list() {
  for (const auto& [hash, kernel] : allKernels()) {
    const std::string text = kernel.toString();
    std::cout << hash.toString() << ' ' << text.substr(0, text.find('\n')) << '\n';
  }
}

void run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "table") {
    writeTable(arguments[1]);
  } else if (arguments.size() == 3 && arguments[0] == "object") {
    writeObject(arguments[1], arguments[2]);
  } else if (arguments.size() == 1 && arguments[0] == "list") {
    list();
  } else {
    throw std::runtime_error("usage: cresset-kernels (table FILE | object LEVEL FILE | list)");
  }
}

}  // namespace

}  // namespace cresset::codegen

int main(int argc, char** argv) {
  try {
    cresset::codegen::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "cresset-kernels: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
