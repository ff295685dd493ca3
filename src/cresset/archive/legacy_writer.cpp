// The layout of PyTorch 1.0 to 1.2: model.json, attributes.pkl, tensors/, code/. docs/archives.md describes it.
//
// model.json is the JSON form of a protobuf message: 64-bit ints are strings there. A module is described where it
// stands, so a submodule that two modules share becomes two (their tensors stay shared); a module's class has no name
// that code could say.
#include <ATen/core/class_type.h>
#include <ATen/ops/q_scale_ops.h>
#include <ATen/ops/q_zero_point_ops.h>
#include <ATen/ops/qscheme_ops.h>
#include <c10/core/QScheme.h>

#include <array>
#include <charconv>

#include "cresset/archive/archive_writer.h"
#include "cresset/archive/debug_writer.h"
#include "cresset/archive/pickler.h"
#include "cresset/ir/parser.h"
#include "cresset/ops/object_slots.h"
#include "cresset/program/class_methods.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr const char* kFirstLine = "op_version_set = 1\n";
constexpr int64_t kLeastVersion = 1;
constexpr size_t kMaxModules = size_t(1) << 16;

std::string jsonString(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string jsonInt(int64_t value) {
  return "\"" + std::to_string(value) + "\"";
}

std::string jsonFloat(double value) {
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end);
}

/// The members of an object, in the order in which they are added.
class JsonObject {
 public:
  JsonObject& add(const char* name, const std::string& json) {
    text_ += (text_.empty() ? "" : ",") + jsonString(name) + ":" + json;
    return *this;
  }
  JsonObject& addAll(const char* name, const std::vector<std::string>& items) {
    if (items.empty()) return *this;  // as protobuf leaves out what is empty
    std::string list;
    for (const std::string& item : items) list += (list.empty() ? "" : ",") + item;
    return add(name, "[" + list + "]");
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

/// The name of a dtype in the message; null if it has none.
const char* dataType(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kFloat:
      return "FLOAT";
    case c10::kDouble:
      return "DOUBLE";
    case c10::kHalf:
      return "FLOAT16";
    case c10::kInt:
    case c10::kQInt32:
      return "INT32";
    case c10::kLong:
      return "INT64";
    case c10::kShort:
      return "INT16";
    case c10::kChar:
    case c10::kQInt8:
      return "INT8";
    case c10::kByte:
    case c10::kQUInt8:
      return "UINT8";
    case c10::kBool:
      return "BOOL";
    default:
      return nullptr;
  }
}

class ModelJsonWriter {
 public:
  ModelJsonWriter(ZipWriter& zip, const SaveOptions& options)
      : zip_(zip),
        options_(options),
        code_{
            .constants = &tensors_,
            .literal_containers = true,
            .type_of_first = false,
            .names = &names_,
            .importable = true},
        version_(kLeastVersion),
        libs_(names_, libs_code_, version_),
        values_(unused_storages_, names_) {
    libs_code_ = code_;
    libs_code_.type_of_first = true;
    values_.setTypeTags(false);
    values_.setTensorWriter([this](PickleWriter& out, const at::Tensor& tensor) {
      out.global("torch.jit._pickle", "build_tensor_from_id");
      out.mark();
      out.integer(static_cast<int64_t>(tensors_.number(tensor)));
      out.tuple();
      out.reduce();
    });
  }

  void write(const c10::IValue& module) {
    values_.writer().mark();
    const std::string main = writeModule(module.toObject(), module.toObject()->type()->name()->name(), "", 0);
    values_.writer().tuple();
    const std::string attributes = values_.finish();
    checkNames();
    libs_.printAll();
    checkNames();
    libs_.write(zip_, "libs/", kFirstLine);
    zip_.add("attributes.pkl", attributes);
    // By index: nothing adds tensors any more, but all have been added by now.
    std::vector<std::string> tensors;
    for (const c10::IValue& value : tensors_.values) tensors.push_back(writeTensor(value));
    JsonObject model;
    model.add("protoVersion", jsonInt(5)).add("mainModule", main);
    model.add("producerName", jsonString("pytorch")).add("producerVersion", jsonString("1.0"));
    model.addAll("tensors", tensors);
    zip_.add("model.json", model.text());
    writeExtraFiles(zip_, options_);
    finishArchive(zip_, version_.value());
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw UserError("This module can't be saved in the layout of PyTorch 1.2 (model.json): " + what);
  }

  void checkNames() const {
    for (size_t i = 0; i < names_.definitions().size(); ++i) {
      const auto* type = std::get_if<c10::NamedTypePtr>(&names_.definitions()[i].what);
      const auto cls = type ? (*type)->cast<c10::ClassType>() : nullptr;
      if (cls && cls->is_module()) fail("its code names the module class '" + cls->name()->qualifiedName() + "'.");
    }
  }

  std::string addAttribute(const std::string& name, const c10::TypePtr& type, const c10::IValue* value) {
    JsonObject attribute;
    // Readers take a None for a mistake unless the type is Optional.
    const bool none = type->kind() == c10::TypeKind::NoneType;
    attribute.add("type", jsonString(none ? "Optional[Tensor]" : names_.annotation(type)));
    attribute.add("name", jsonString(name)).add("id", value ? jsonInt(num_values_++) : jsonInt(-1));
    if (value) values_.push(*value);
    return attribute.text();
  }

  std::string writeModule(
      const c10::intrusive_ptr<c10::ivalue::Object>& object, const std::string& name, const std::string& parent,
      int depth) {
    if (depth > kMaxNesting) fail("its submodules nest too deep.");
    if (++num_modules_ > kMaxModules) {
      fail(
          "it has more than " + std::to_string(kMaxModules) +
          " submodules, each counted as often as it is one of another.");
    }
    const auto type = object->type();
    if (!type->getForwardHooks().empty() || !type->getForwardPreHooks().empty())
      fail("'" + name + "' has hooks, for which this layout has no place.");
    const std::string path = parent.empty() ? name : parent + "/" + name;
    torch::jit::Function* getstate = type->findMethod("__getstate__");
    const bool restores = getstate && type->findMethod("__setstate__");
    std::vector<std::string> submodules, parameters, attributes;
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      const std::string& attribute = type->getAttributeName(i);
      const c10::IValue value = readSlot(*object, i);
      const bool is_module = value.isObject() && value.toObject()->type()->is_module();
      if (is_module) submodules.push_back(writeModule(value.toObject(), attribute, path, depth + 1));
    }
    for (size_t i = 0; i < type->numAttributes(); ++i) {
      const std::string& attribute = type->getAttributeName(i);
      const c10::IValue value = readSlot(*object, i);
      if (value.isObject() && value.toObject()->type()->is_module()) continue;
      const bool in_table =
          (type->is_parameter(i) || type->is_buffer(i)) && value.isTensor() && value.toTensor().defined();
      if (restores || !in_table) {
        attributes.push_back(addAttribute(attribute, type->getAttribute(i), restores ? nullptr : &value));
        continue;
      }
      JsonObject parameter;
      parameter.add("isBuffer", type->is_buffer(i) ? "true" : "false");
      parameter.add("tensorId", jsonInt(static_cast<int64_t>(tensors_.number(value))))
          .add("name", jsonString(attribute));
      parameters.push_back(parameter.text());
    }

    JsonObject module;
    module.addAll("submodules", submodules);
    module.add("torchscriptArena", JsonObject().add("key", jsonString(writeCode(*type, path))).text());
    module.addAll("parameters", parameters);
    module.add("name", jsonString(name)).add("optimize", "true").addAll("attributes", attributes);
    if (restores) {
      Stack stack{c10::IValue(object)};
      getstate->run(stack);
      values_.push(stack.back());
      module.add("getStateAttributeId", jsonInt(num_values_++));
    }
    module.add("torchscriptDebugArena", JsonObject().add("key", jsonString("debug/" + path + ".pkl")).text());
    return module.text();
  }

  std::string writeCode(const c10::ClassType& type, const std::string& path) {
    CodeText text;
    text << kFirstLine;
    for (torch::jit::Function* method : methodsOf(type)) {
      auto* ours = dynamic_cast<Function*>(method);
      if (!ours) fail("its method '" + method->name() + "' is no script function.");
      printCode(text, *ours, method->name(), 0, code_);
      version_.cover(*ours->definition());
    }
    zip_.add("code/" + path + ".py", text.text());
    zip_.add("debug/" + path + ".pkl", oldDebugRecords(text));
    return "code/" + path + ".py";
  }

  std::string writeTensor(const c10::IValue& value) {
    if (!value.isTensor()) fail("its code has a constant of type '" + value.type()->repr_str() + "'.");
    const at::Tensor& tensor = value.toTensor();
    const char* dtype = dataType(tensor.scalar_type());
    if (!dtype) fail(std::string("it has a tensor of type ") + c10::toString(tensor.scalar_type()) + ".");
    if (tensor.layout() != c10::kStrided || !tensor.has_storage() || tensor.is_meta() || tensor.is_conj() ||
        tensor.is_neg())
      fail("it has a tensor that is not plain (sparse, meta or a view that computes).");
    if (tensor.is_quantized() && at::_ops::qscheme::call(tensor) != c10::kPerTensorAffine)
      fail("it has a tensor that is quantized per channel.");
    const size_t known = storages_.storages().size();
    const size_t number = storages_.number(tensor.storage());
    const std::string record = "tensors/" + std::to_string(number);
    if (number == known) {
      const HostBytes bytes(tensor.storage());
      zip_.add(record, bytes.data(), bytes.size());
    }
    std::vector<std::string> dims, strides;
    for (int64_t n : tensor.sizes()) dims.push_back(jsonInt(n));
    for (int64_t n : tensor.strides()) strides.push_back(jsonInt(n));
    JsonObject json;
    json.addAll("dims", dims).add("offset", jsonInt(tensor.storage_offset())).addAll("strides", strides);
    json.add("requiresGrad", tensor.requires_grad() ? "true" : "false").add("dataType", jsonString(dtype));
    json.add("data", JsonObject().add("key", jsonString(record)).text());
    json.add("device", jsonString(tensor.device().str()));
    if (tensor.is_quantized()) {
      json.add("isQuantized", "true").add("scale", jsonFloat(at::_ops::q_scale::call(tensor)));
      json.add("zeroPoint", jsonInt(at::_ops::q_zero_point::call(tensor)));
    }
    return json.text();
  }

  ZipWriter& zip_;
  const SaveOptions& options_;
  ArchiveNames names_;
  CodeConstants tensors_;  // constants of code are tensors of the one table
  CodeOptions code_, libs_code_;
  FormatVersion version_;
  CodeFiles libs_;
  StorageTable storages_, unused_storages_;
  Pickler values_;
  int64_t num_values_ = 0;
  size_t num_modules_ = 0;
};

}  // namespace

void writeModelJson(ZipWriter& zip, const c10::IValue& module, const SaveOptions& options) {
  ModelJsonWriter(zip, options).write(module);
}

}  // namespace cresset
