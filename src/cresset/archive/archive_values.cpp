// Names of archive code. See archive_values.h.
#include "cresset/archive/archive_values.h"

#include <algorithm>

#include "cresset/archive/source_importer.h"
#include "cresset/frontend/compiler.h"
#include "cresset/ir/parser.h"
#include "cresset/ops/upgraders.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

class NamespaceValue final : public SugaredValue {
 public:
  NamespaceValue(std::shared_ptr<SourceImporter> importer, std::string prefix)
      : importer_(std::move(importer)), prefix_(std::move(prefix)) {}
  std::string kind() const override { return "namespace '" + prefix_ + "'"; }
  SugaredValuePtr findAttr(const SourceRange&, EmitContext&, const std::string& name) override {
    std::string full = prefix_ + '.' + name;
    if (c10::TypePtr type = importer_->findType(full)) return std::make_shared<ClassValue>(std::move(type));
    if (Function* function = importer_->findFunction(full)) return std::make_shared<FunctionValue>(function);
    return importer_->isNamespace(full) ? std::make_shared<NamespaceValue>(importer_, full) : nullptr;
  }

 private:
  std::shared_ptr<SourceImporter> importer_;
  std::string prefix_;
};

class ConstantsValue final : public SugaredValue {
 public:
  explicit ConstantsValue(std::shared_ptr<SourceImporter> importer) : importer_(std::move(importer)) {}
  std::string kind() const override { return "table of constants"; }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override {
    const auto& constants = importer_->constants();
    size_t index = 0;
    bool number = name.size() > 1 && name.size() < 12 && name[0] == 'c';
    for (size_t i = 1; number && i < name.size(); ++i) {
      number = name[i] >= '0' && name[i] <= '9';
      index = index * 10 + static_cast<size_t>(name[i] - '0');
    }
    if (!number) return nullptr;
    if (index >= constants.size())
      throw UserError(
          "the archive has " + std::to_string(constants.size()) + " constants, and no CONSTANTS." + name, range);
    return std::make_shared<SimpleValue>(cx.graph.insertConstant(constants[index]));
  }

 private:
  std::shared_ptr<SourceImporter> importer_;
};

bool isNamed(const Upgrader& upgrader, std::string_view name) {
  constexpr std::string_view kPrefix = "aten::";
  std::string_view op = upgrader.op.substr(kPrefix.size());
  return op.substr(0, op.find('.')) == name;
}

bool returnsTensorForNumber(const c10::FunctionSchema& schema, const std::vector<NamedValue>& args) {
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < std::min(args.size(), arguments.size()); ++i) {
    if (arguments[i].type()->kind() == c10::TypeKind::NumberType &&
        args[i].type()->isSubtypeOf(*c10::TensorType::get()))
      return true;
  }
  return false;
}

/// The function of an upgrader, defined in the program when it is first called.
Function& upgraderFunction(const Upgrader& upgrader, EmitContext& cx) {
  static const c10::QualifiedName kHome("__torch__.cresset.upgraders");
  const c10::QualifiedName name(kHome, std::string(upgrader.name));
  if (Function* function = cx.program.findFunction(name)) return *function;
  DefineOptions options;
  options.prefix = kHome;
  auto source = std::make_shared<Source>(std::string(upgrader.code.substr(1)), std::string(upgrader.schema));
  return *defineSource(cx.program, std::move(source), options).front();
}

/// An operator that has changed, as archives of an older format mean it.
class VersionedOperator final : public SugaredValue {
 public:
  VersionedOperator(SugaredValuePtr value, std::string name, int64_t version)
      : value_(std::move(value)), name_(std::move(name)), version_(version) {}
  std::string kind() const override { return value_->kind(); }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override {
    return value_->findAttr(range, cx, name);
  }
  // As schema matching does: what fits as it is comes before what has to be converted. No overload that did not change
  // takes the arguments of one that did, but for those that take a tensor where a number stood, so a tensor is never
  // converted to a number here.
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    for (bool allow_conversions : {false, true}) {
      if (SugaredValuePtr result = tryUpgraders(range, cx, args, kwargs, allow_conversions)) return result;
    }
    return value_->call(range, cx, args, kwargs, num_binders);
  }

 private:
  SugaredValuePtr tryUpgraders(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, bool allow_conversions) {
    for (const Upgrader& upgrader : upgraders()) {
      if (version_ >= upgrader.since || !isNamed(upgrader, name_)) continue;
      const c10::FunctionSchema schema = parseSchema(std::string(upgrader.schema));
      if (returnsTensorForNumber(schema, args)) continue;
      auto matched = tryMatchSchema(schema, cx.graph, range, args, kwargs, std::nullopt, nullptr, allow_conversions);
      if (!matched) continue;
      std::vector<NamedValue> inputs;
      for (Value* input : matched->inputs) inputs.emplace_back(input, range);
      return FunctionValue(&upgraderFunction(upgrader, cx)).call(range, cx, inputs, {}, 1);
    }
    return nullptr;
  }

  SugaredValuePtr value_;
  std::string name_;
  int64_t version_;
};

class VersionedNamespace final : public SugaredValue {
 public:
  VersionedNamespace(SugaredValuePtr value, int64_t version) : value_(std::move(value)), version_(version) {}
  std::string kind() const override { return value_->kind(); }
  c10::TypePtr asType() const override { return value_->asType(); }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override {
    SugaredValuePtr found = value_->findAttr(range, cx, name);
    if (!found) return nullptr;
    if (name == "aten") return std::make_shared<VersionedNamespace>(std::move(found), version_);  // ops.aten
    for (const Upgrader& upgrader : upgraders())
      if (version_ < upgrader.since && isNamed(upgrader, name))
        return std::make_shared<VersionedOperator>(std::move(found), name, version_);
    return found;
  }

 private:
  SugaredValuePtr value_;
  int64_t version_;
};

}  // namespace

SugaredValuePtr makeNamespaceValue(std::shared_ptr<SourceImporter> importer, std::string prefix) {
  return std::make_shared<NamespaceValue>(std::move(importer), std::move(prefix));
}
SugaredValuePtr makeConstantsValue(std::shared_ptr<SourceImporter> importer) {
  return std::make_shared<ConstantsValue>(std::move(importer));
}
SugaredValuePtr makeVersionedValue(SugaredValuePtr value, int64_t version) {
  return value ? std::make_shared<VersionedNamespace>(std::move(value), version) : nullptr;
}
bool hasChangedOperators(int64_t version) {
  return std::ranges::any_of(upgraders(), [&](const Upgrader& upgrader) { return version < upgrader.since; });
}

}  // namespace cresset
