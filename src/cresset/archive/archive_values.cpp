// Names of archive code. See archive_values.h.
#include "cresset/archive/archive_values.h"

#include "cresset/archive/source_importer.h"
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

// The operators that changed, by torch's version map, and how to tell a call that means something else now.
struct Change {
  std::string_view name;
  int64_t since;  // the first file format with today's meaning
  bool (*affected)(const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs);
  std::string_view what;
};

bool isNoneOrMissing(const NamedValue* value) {
  return value == nullptr || value->type()->kind() == c10::TypeKind::NoneType;
}
const NamedValue* argument(
    const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs, size_t position,
    std::string_view name) {
  if (position < args.size()) return &args[position];
  for (const NamedValue& kw : kwargs)
    if (kw.name == name) return &kw;
  return nullptr;
}
bool takesTensor(const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs) {
  const NamedValue* self = argument(args, kwargs, 0, "self");
  return self && self->type()->isSubtypeOf(*c10::TensorType::get());
}
bool lacksSteps(const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs) {
  return isNoneOrMissing(argument(args, kwargs, 2, "steps"));
}
bool infersIntegralFill(const std::vector<NamedValue>& args, const std::vector<NamedValue>& kwargs) {
  const NamedValue* fill = argument(args, kwargs, 1, "fill_value");
  if (!fill || fill->type()->kind() == c10::TypeKind::FloatType || fill->type()->kind() == c10::TypeKind::ComplexType)
    return false;
  for (const NamedValue& kw : kwargs)
    if (kw.name == "out") return false;  // the result's dtype is the given tensor's
  return isNoneOrMissing(argument(args, kwargs, 2, "dtype"));
}

// gelu changed too, at 10, but only by a new argument whose default means what it always did.
constexpr Change kChanges[] = {
    {"div", 4, takesTensor, "integer division by torch.div"},
    {"div_", 4, takesTensor, "integer division by torch.div_"},
    {"full", 5, infersIntegralFill, "torch.full with an int or bool and no dtype, which made floats"},
    {"linspace", 8, lacksSteps, "torch.linspace without steps, which made 100"},
    {"logspace", 9, lacksSteps, "torch.logspace without steps, which made 100"},
};

class VersionedOperator final : public SugaredValue {
 public:
  VersionedOperator(SugaredValuePtr value, const Change& change, int64_t version)
      : value_(std::move(value)), change_(change), version_(version) {}
  std::string kind() const override { return value_->kind(); }
  SugaredValuePtr findAttr(const SourceRange& range, EmitContext& cx, const std::string& name) override {
    return value_->findAttr(range, cx, name);
  }
  SugaredValuePtr call(
      const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
      const std::vector<NamedValue>& kwargs, size_t num_binders) override {
    if (change_.affected(args, kwargs))
      throw UserError(
          "This archive has file format " + std::to_string(version_) + ", and " + std::string(change_.what) +
              ", has another meaning since file format " + std::to_string(change_.since) +
              ". Cresset does not translate such calls; load and save the archive with torch.jit, which does.",
          range);
    return value_->call(range, cx, args, kwargs, num_binders);
  }

 private:
  SugaredValuePtr value_;
  const Change& change_;
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
    for (const Change& change : kChanges)
      if (change.name == name && version_ < change.since)
        return std::make_shared<VersionedOperator>(std::move(found), change, version_);
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
  for (const Change& change : kChanges)
    if (version < change.since) return true;
  return false;
}

}  // namespace cresset
