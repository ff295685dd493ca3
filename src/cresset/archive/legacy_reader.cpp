// See legacy_reader.h.
//
// The file describes a tree of modules. Each becomes a class of its own in the program, declared with the attributes
// that the file lists and the methods of its code file; then the objects are made; then values are read, each for the
// type that its attribute declares. Nothing runs.
#include "cresset/archive/legacy_reader.h"

#include <ATen/core/class_type.h>

#include <algorithm>
#include <charconv>

#include "cresset/archive/json.h"
#include "cresset/frontend/class_members.h"
#include "cresset/ir/parser.h"
#include "cresset/ops/object_slots.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

using c10::IValue;
using c10::TypePtr;
using ObjectPtr = c10::intrusive_ptr<c10::ivalue::Object>;

// What c10 takes for a class and its object, and for an attribute, beside their names.
constexpr size_t kModuleBytes = 4096, kAttributeBytes = 512;

struct DataType {
  std::string_view name;
  c10::ScalarType dtype, quantized;
};
constexpr c10::ScalarType kNone = c10::ScalarType::Undefined;
constexpr DataType kDataTypes[] = {
    {"FLOAT", c10::kFloat, kNone},     {"DOUBLE", c10::kDouble, kNone},     {"FLOAT16", c10::kHalf, kNone},
    {"INT64", c10::kLong, kNone},      {"INT32", c10::kInt, c10::kQInt32},  {"INT16", c10::kShort, kNone},
    {"INT8", c10::kChar, c10::kQInt8}, {"UINT8", c10::kByte, c10::kQUInt8}, {"BYTE", c10::kByte, c10::kQUInt8},
    {"BOOL", c10::kBool, kNone},
};

class ModelReader {
 public:
  ModelReader(UnpickleContext& context, std::shared_ptr<SourceImporter> importer, Program& program)
      : cx_(context), importer_(std::move(importer)), program_(program), record_("model.json") {}

  ObjectPtr read() {
    const ZipEntry& entry = *cx_.zip.find(record_);
    const Record bytes = cx_.zip.read(entry, cx_.budget);
    const JsonValue model = parseJson(bytes.bytes(), site(0), cx_.budget);
    const int64_t proto_version = integer(model, "protoVersion", 0);
    if (proto_version >= 6)
      fail(model, "the version of its protocol, " + std::to_string(proto_version) + ", is unknown");
    for (const JsonValue& tensor : list(model, "tensors")) tensors_.push_back(readTensor(tensor));
    cx_.tensor_table = &tensors_;
    std::vector<IValue> constants(tensors_.begin(), tensors_.end());
    importer_->setConstants(std::move(constants));
    const JsonValue* main = model.find("mainModule");
    if (!main) fail(model, "there is no mainModule");
    ObjectPtr root = readModule(*main, "__torch__", 0);
    readValues();
    return root;
  }

 private:
  ArchiveSite site(size_t offset) const { return {cx_.zip.file(), record_, offset}; }
  [[noreturn]] void fail(const JsonValue& value, const std::string& reason) const { site(value.offset).fail(reason); }

  // ---- members of objects; protobuf leaves out what has its default ----

  const std::vector<JsonValue>& list(const JsonValue& object, std::string_view name) const {
    static const std::vector<JsonValue> kEmpty;
    const JsonValue* value = object.find(name);
    if (!value) return kEmpty;
    if (value->kind != JsonValue::Array) fail(*value, "'" + std::string(name) + "' is no list");
    return value->items;
  }
  std::string text(const JsonValue& object, std::string_view name) const {
    const JsonValue* value = object.find(name);
    if (!value) return "";
    if (value->kind != JsonValue::String) fail(*value, "'" + std::string(name) + "' is no string");
    return value->text;
  }
  bool boolean(const JsonValue& object, std::string_view name) const {
    const JsonValue* value = object.find(name);
    if (!value) return false;
    if (value->kind != JsonValue::Bool) fail(*value, "'" + std::string(name) + "' is no bool");
    return value->text == "true";
  }
  int64_t toInteger(const JsonValue& value, std::string_view name) const {
    int64_t number = 0;
    const char* end = value.text.data() + value.text.size();
    const auto [rest, error] = std::from_chars(value.text.data(), end, number);
    const bool is_number = value.kind == JsonValue::Number || value.kind == JsonValue::String;
    if (!is_number || error != std::errc() || rest != end) fail(value, "'" + std::string(name) + "' is no int");
    return number;
  }
  int64_t integer(const JsonValue& object, std::string_view name, int64_t or_else) const {
    const JsonValue* value = object.find(name);
    return value ? toInteger(*value, name) : or_else;
  }
  double number(const JsonValue& object, std::string_view name) const {
    const JsonValue* value = object.find(name);
    double result = 0;
    if (!value) return result;
    const char* end = value->text.data() + value->text.size();
    const auto [rest, error] = std::from_chars(value->text.data(), end, result);
    if (error != std::errc() || rest != end) fail(*value, "'" + std::string(name) + "' is no number");
    return result;
  }
  /// The record that a member refers to; "" if there is none.
  std::string key(const JsonValue& object, std::string_view name) const {
    const JsonValue* reference = object.find(name);
    return reference ? text(*reference, "key") : "";
  }

  // ---- tensors ----

  at::Tensor readTensor(const JsonValue& json) {
    const std::string type = text(json, "dataType"), record = key(json, "data"), device = text(json, "device");
    const bool quantized = boolean(json, "isQuantized");
    const auto* row = std::find_if(std::begin(kDataTypes), std::end(kDataTypes), [&](const DataType& candidate) {
      return candidate.name == type;
    });
    if (row == std::end(kDataTypes) || (quantized && row->quantized == kNone))
      fail(json, "a tensor has the unknown type '" + type + "'");
    if (device.empty()) fail(json, "a tensor has no device");
    const c10::ScalarType dtype = quantized ? row->quantized : row->dtype;
    const ZipEntry* entry = cx_.zip.find(record);
    if (!entry) fail(json, "the archive has no record '" + record + "', which a tensor needs");
    TensorReader::Geometry geometry;
    for (const JsonValue& n : list(json, "dims")) geometry.sizes.push_back(toInteger(n, "dims"));
    for (const JsonValue& n : list(json, "strides")) geometry.strides.push_back(toInteger(n, "strides"));
    geometry.offset = integer(json, "offset", 0);
    const ArchiveSite where = site(json.offset);
    const auto storage =
        cx_.tensors.storage(record, dtype, device, static_cast<int64_t>(entry->size / c10::elementSize(dtype)), where);
    at::Tensor tensor = quantized ? cx_.tensors.perTensorQuantized(
                                        storage, geometry, number(json, "scale"), integer(json, "zeroPoint", 0), where)
                                  : cx_.tensors.strided(storage, geometry, where);
    if (boolean(json, "requiresGrad")) {
      if (!c10::isFloatingType(dtype)) fail(json, "a tensor of type '" + type + "' can't require gradients");
      tensor.set_requires_grad(true);
    }
    return tensor;
  }

  // ---- modules ----

  struct Slot {
    ObjectPtr object;
    size_t slot;
    size_t id;
  };

  c10::QualifiedName className(const JsonValue& json, const c10::QualifiedName& parent) {
    const std::string name = text(json, "name");
    if (name.empty() || name.front() == '.' || name.back() == '.' || name.find("..") != std::string::npos)
      fail(json, "a module has no proper name");
    // As torch.jit has it: numbers are no names of classes.
    SourceImporter::requireShortName(parent.qualifiedName() + '.' + name);
    std::vector<std::string> atoms = parent.atoms();
    const c10::QualifiedName own(name);
    for (std::string atom : own.atoms()) {
      if (std::all_of(atom.begin(), atom.end(), [](unsigned char c) { return std::isdigit(c); })) atom = "_" + atom;
      atoms.push_back(std::move(atom));
    }
    return c10::QualifiedName(atoms);
  }

  void addAttribute(c10::ClassType& type, const JsonValue& json, const TypePtr& of, bool parameter, bool buffer) {
    const std::string name = text(json, "name");
    cx_.budget.charge(kAttributeBytes + 2 * name.size(), site(json.offset), "the attributes of this archive");
    if (name.empty()) fail(json, "an attribute has no name");
    if (type.findAttributeSlot(name)) fail(json, "the attribute '" + name + "' is there twice");
    requireFewMembers(program_, type.name()->name(), type.numAttributes() + 1, {});
    type.addAttribute(name, of, parameter, buffer);
  }

  ObjectPtr readModule(const JsonValue& json, const c10::QualifiedName& parent, int depth) {
    if (depth > kMaxNesting) fail(json, "modules nest deeper than " + std::to_string(kMaxNesting) + " levels");
    cx_.budget.charge(kModuleBytes, site(json.offset), "the modules of this archive");
    const c10::QualifiedName wanted = className(json, parent);
    const c10::QualifiedName name = program_.findType(wanted) ? program_.mangle(wanted) : wanted;
    cx_.budget.charge(SourceImporter::definitionBytes(name), site(json.offset), "the modules of this archive");
    auto type = c10::ClassType::create(name, program_.asCompilationUnit(), /*is_module=*/true);
    program_.registerType(type);

    std::vector<std::pair<std::string, IValue>> values;
    for (const JsonValue& submodule : list(json, "submodules")) {
      ObjectPtr object = readModule(submodule, wanted, depth + 1);
      addAttribute(*type, submodule, object->type(), false, false);
      values.emplace_back(text(submodule, "name"), object);
    }
    for (const JsonValue& parameter : list(json, "parameters")) {
      const int64_t id = integer(parameter, "tensorId", 0);
      if (id < 0 || static_cast<size_t>(id) >= tensors_.size()) fail(parameter, "a parameter has no tensor");
      const bool is_buffer = boolean(parameter, "isBuffer");
      addAttribute(*type, parameter, c10::TensorType::get(), !is_buffer, is_buffer);
      values.emplace_back(text(parameter, "name"), tensors_[static_cast<size_t>(id)]);
    }
    std::vector<std::pair<std::string, int64_t>> ids;
    for (const JsonValue& attribute : list(json, "attributes")) {
      // Some writers list a buffer here too.
      if (type->findAttributeSlot(text(attribute, "name"))) continue;
      addAttribute(
          *type, attribute, importer_->parseType(text(attribute, "type"), site(attribute.offset)), false, false);
      ids.emplace_back(text(attribute, "name"), integer(attribute, "id", 0));
    }
    if (const std::string code = key(json, "torchscriptArena"); !code.empty()) {
      importer_->declareMethods(type, code, key(json, "torchscriptDebugArena"));
    }

    auto object =
        c10::ivalue::Object::create(c10::StrongTypePtr(program_.asCompilationUnit(), type), type->numAttributes());
    for (auto& [attribute, value] : values) object->setSlot(type->getAttributeSlot(attribute), std::move(value));
    for (const auto& [attribute, id] : ids) {
      if (id < 0) {  // __setstate__ sets it
        if (!json.find("getStateAttributeId")) fail(json, "the attribute '" + attribute + "' has no value");
        continue;
      }
      slots_.push_back({object, type->getAttributeSlot(attribute), noteType(json, id, type->getAttribute(attribute))});
    }
    if (json.find("getStateAttributeId")) noteState(json, object, *type);
    return object;
  }

  size_t noteType(const JsonValue& json, int64_t id, const TypePtr& type) {
    // Values have at least a byte each in their pickle.
    if (id < 0 || static_cast<size_t>(id) >= cx_.zip.bytes()->size()) fail(json, "an attribute has no value");
    const auto index = static_cast<size_t>(id);
    if (index >= types_.size()) {
      const size_t more = index + 1 - types_.size();
      cx_.budget.charge(3 * more * sizeof(TypePtr), site(json.offset), "the attributes of this archive");
      types_.resize(index + 1);
    }
    // A value is built for one type; code trusts that it has it.
    if (types_[index] && *types_[index] != *type) fail(json, "two attributes of different types share a value");
    types_[index] = type;
    return index;
  }

  void noteState(const JsonValue& json, const ObjectPtr& object, c10::ClassType& type) {
    torch::jit::Function* setstate = type.findMethod("__setstate__");
    if (!setstate || setstate->getSchema().arguments().size() != 2)
      fail(json, "a module has a state and no method __setstate__ that takes it");
    if (!cx_.pending) {
      fail(json, "module '" + type.name()->qualifiedName() + "' restores itself" + setstateRefusal(cx_.door));
    }
    const TypePtr& wanted = setstate->getSchema().arguments()[1].type();
    states_.push_back({object, 0, noteType(json, integer(json, "getStateAttributeId", 0), wanted)});
  }

  void readValues() {
    if (!cx_.zip.find("attributes.pkl")) {
      if (slots_.empty() && states_.empty()) return;  // PyTorch 1.0 had no attributes
      throw ArchiveError(cx_.zip.file(), "attributes.pkl", ArchiveError::kNoOffset, "the archive has no such record");
    }
    std::vector<IValue> values = unpickleAll(cx_, "attributes", types_);
    if (values.size() < types_.size()) {
      throw ArchiveError(
          cx_.zip.file(), "attributes.pkl", 0,
          "there are " + std::to_string(values.size()) + " values for " + std::to_string(types_.size()) +
              " attributes");
    }
    for (const Slot& slot : slots_) slot.object->setSlot(slot.slot, values[slot.id]);
    for (const Slot& state : states_) cx_.pending->push_back({state.object, values[state.id]});
  }

  UnpickleContext& cx_;
  std::shared_ptr<SourceImporter> importer_;
  Program& program_;
  std::string record_;
  std::vector<at::Tensor> tensors_;
  std::vector<TypePtr> types_;  // by id; null: no attribute has it
  std::vector<Slot> slots_, states_;
};

}  // namespace

c10::intrusive_ptr<c10::ivalue::Object> readModelJson(
    UnpickleContext& context, const std::shared_ptr<SourceImporter>& importer, Program& program) {
  auto root = ModelReader(context, importer, program).read();
  context.tensor_table = nullptr;
  return root;
}

}  // namespace cresset
