// See archive_writer.h.
#include "cresset/archive/archive_writer.h"

#include <ATen/core/class_type.h>
#include <ATen/ops/_to_copy_ops.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "cresset/archive/class_printer.h"
#include "cresset/archive/debug_writer.h"
#include "cresset/ir/structure.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/upgraders.h"
#include "cresset/program/class_methods.h"

namespace cresset {

void FormatVersion::cover(const Block* block) {
  for (const Node* node : block->nodes()) {
    for (const Block* inner : node->blocks()) cover(inner);
    if (runsApart(*node)) cover(*node->g(attr::Subgraph));
    if (isStructural(node->kind())) continue;
    const Operator* op = operatorOf(*node);  // binding is a cache
    if (!op || !op->isOfDispatcher()) continue;
    for (const Upgrader& upgrader : upgraders()) {
      if (upgrader.op == op->fullName()) value_ = std::max(value_, upgrader.since);
    }
  }
}

void CodeFiles::printAll() {
  // By index: printing one definition mentions others.
  for (; printed_ < names_.definitions().size(); ++printed_) {
    const ArchiveNames::Definition definition = names_.definitions()[printed_];
    CodeText& file = files_[definition.name.prefix()];
    if (const auto* type = std::get_if<c10::NamedTypePtr>(&definition.what)) {
      printDefinition(file, *type, definition.name.name(), options_);
      if (auto cls = (*type)->cast<c10::ClassType>()) {
        for (const auto& functions : {methodsOf(*cls), cls->getForwardHooks(), cls->getForwardPreHooks()}) {
          for (torch::jit::Function* method : functions) {
            if (auto* ours = dynamic_cast<Function*>(method)) version_.cover(*ours->definition());
          }
        }
      }
    } else {
      Function& function = *std::get<Function*>(definition.what);
      printCode(file, function, definition.name.name(), 0, options_);
      version_.cover(*function.definition());
    }
  }
}

void CodeFiles::write(ZipWriter& zip, const std::string& prefix, const std::string& first_line) const {
  for (const auto& [name, text] : files_) {
    std::string path = prefix + name;
    std::replace(path.begin() + static_cast<std::ptrdiff_t>(prefix.size()), path.end(), '.', '/');
    zip.add(path + ".py", first_line + text.text());
    if (first_line.empty()) zip.add(path + ".py.debug_pkl", debugRecords(text));
  }
}

HostBytes::HostBytes(const c10::Storage& storage) : data_(storage.data()), size_(storage.nbytes()) {
  if (storage.device_type() == c10::DeviceType::CPU) return;
  auto whole = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::computeDispatchKey(c10::kByte, c10::kStrided, storage.device())),
      c10::scalarTypeToTypeMeta(c10::kByte));
  whole.unsafeGetTensorImpl()->set_sizes_contiguous({static_cast<int64_t>(size_)});
  copy_ = at::_ops::_to_copy::call(
      whole, std::nullopt, std::nullopt, c10::Device(c10::kCPU), std::nullopt, false, std::nullopt);
  data_ = copy_.const_data_ptr();
}

void writeExtraFiles(ZipWriter& zip, const SaveOptions& options) {
  if (!options.extra_files) return;
  const std::map<std::string, std::string> sorted(options.extra_files->begin(), options.extra_files->end());
  for (const auto& [name, contents] : sorted) zip.add("extra/" + name, contents);
}

void finishArchive(ZipWriter& zip, int64_t version) {
  zip.add("version", std::to_string(version) + "\n");
  zip.add("byteorder", "little");
  // Forty digits, as PyTorch's archives have, from what is in this one.
  const unsigned long long id = zip.fingerprint();
  std::array<char, 48> digits;
  std::snprintf(digits.data(), digits.size(), "%020llu%020llu", id, id * 0x9e3779b97f4a7c15);
  zip.add(".data/serialization_id", digits.data());
  zip.finish();
}

}  // namespace cresset
