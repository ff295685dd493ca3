// Python classes as types: script classes (dataclasses among them), enums, named tuples, interfaces.
//
// A class becomes a type when it is first needed. It is published before its methods are declared, so that they may
// refer to it; attributes get their types where __init__ assigns them. Methods of base classes are compiled again for
// each class that inherits them: a program's classes have no bases, and an instance of one is not of the other's type.
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <set>
#include <unordered_map>

#include "cresset/frontend/annotations.h"
#include "cresset/frontend/calls.h"
#include "cresset/frontend/messages.h"
#include "cresset/frontend/tuple_sizes.h"
#include "cresset/frontend/user_exceptions.h"
#include "cresset/ops/schema_matching.h"
#include "cresset/python/script_names.h"

namespace cresset::python {

namespace {

/// The types of Python classes. An entry is of use while the type's Program lives, and goes with the class.
struct KnownClasses {
  struct Entry {
    py::object weak;  // its end takes the entry out
    TypePtr type;     // keeps the address from being used again
    std::weak_ptr<Program> program;
    std::shared_ptr<Program> kept;  // of classes that were scripted, not just named
  };
  std::unordered_map<PyObject*, Entry> types;
  std::unordered_map<const c10::Type*, PyObject*> classes;
  static KnownClasses& get() {
    static auto* instance = new KnownClasses;
    return *instance;
  }
  void erase(PyObject* cls) {
    // Taken out first: what goes with the program may come back here.
    const auto entry = types.extract(cls);
    if (entry) classes.erase(entry.mapped().type.get());
  }
};

std::string shortName(py::handle cls) {
  return py::cast<std::string>(py::str(cls.attr("__name__")));
}

c10::QualifiedName freeName(py::handle cls) {
  return currentProgram().mangle(qualifiedNameOf(cls));
}

// ---- enums and named tuples

TypePtr enumType(py::handle cls, const SourceRange& range) {
  const std::string name = shortName(cls);
  std::vector<c10::EnumNameValue> members;
  TypePtr value_type;
  py::object by_name = cls.attr("__members__");
  for (py::handle item : by_name.attr("items")()) {
    py::tuple pair = py::reinterpret_borrow<py::tuple>(item);
    py::object value = py::object(pair[1]).attr("value");
    TypePtr type;
    try {
      type = inferType(value.ptr());
    } catch (const UserError& error) {
      throw UserError("Enum class '" + name + "': " + error.message(), range);
    }
    if (value_type && *value_type != *type) {
      throw UserError(
          "Enum class '" + name + "' must have values of one type. Could not unify type list since element " +
              std::to_string(members.size()) + " of type " + type->repr_str() + " did not match the types before it (" +
              value_type->repr_str() + ")",
          range);
    }
    value_type = type;
    members.emplace_back(py::cast<std::string>(pair[0]), toIValue(value.ptr(), type));
  }
  if (members.empty()) throw UserError("No enum values defined for: '" + name + "'", range);
  Program& program = currentProgram();
  auto type = c10::EnumType::create(freeName(cls), value_type, std::move(members), program.asCompilationUnit());
  program.registerType(type);
  publishClass(cls, type);
  return type;
}

bool isNamedTuple(py::handle cls) {
  return isSubclass(cls, py::handle(reinterpret_cast<PyObject*>(&PyTuple_Type))) && attributeOrNull(cls, "_fields");
}

/// The type of a field of a named tuple. Python keeps the names in annotations as ForwardRef objects.
TypePtr typeOfField(py::handle annotation, py::handle cls, const SourceRange& range, const ResolverPtr& names) {
  try {
    return requireTypeOfAnnotation(annotation, range, names);
  } catch (const UserError& error) {
    if (!py::isinstance(annotation, known("typing", "ForwardRef"))) throw;
    throw UserError(
        "Unknown type annotation: '" + shortRepr(annotation.ptr()) + "' in NamedTuple " + shortName(cls) + ": " +
            error.message(),
        range);
  }
}

TypePtr namedTupleType(py::handle cls, const SourceRange& range) {
  // The annotations may stand in a base: class P(NamedTuple('P_', …)).
  py::object annotations;
  for (py::handle base : cls.attr("__mro__")) {
    py::dict own(base.attr("__dict__"));
    if (own.contains("__annotations__") && py::len(own["__annotations__"]) > 0) {
      annotations = own["__annotations__"];
      break;
    }
  }
  py::object field_defaults = attributeOrNull(cls, "_field_defaults");
  const ResolverPtr names = resolverOfClass(cls);
  std::vector<std::string> fields;
  std::vector<TypePtr> types;
  std::vector<IValue> defaults;
  for (py::handle field : cls.attr("_fields")) {
    fields.push_back(py::cast<std::string>(field));
    py::object annotation = annotations ? annotations.attr("get")(field, py::none()) : py::object(py::none());
    const bool annotated = annotations && annotations.contains(field);
    types.push_back(annotated ? typeOfField(annotation, cls, range, names) : inferredTensorType());
    if (field_defaults && field_defaults.contains(field)) {
      py::object value = field_defaults[field];
      if (!annotated && !THPVariable_Check(value.ptr())) {
        // namedtuple("P", ["x"], defaults=(1,)): scripts take x for a tensor, which has no such default.
        defaults.clear();
        continue;
      }
      try {
        defaults.push_back(toIValue(value.ptr(), types.back()));
      } catch (const CastError& error) {
        throw UserError(
            "the default of field '" + fields.back() + "' of " + shortName(cls) + ": " + error.what(), range);
      }
    }
  }
  auto type = c10::TupleType::createNamed(freeName(cls), fields, types, defaults);
  TupleSizes().check(range, type);
  currentProgram().registerType(type);
  publishClass(cls, type);
  return type;
}

// ---- interfaces

TypePtr interfaceType(py::handle cls, const SourceRange& range) {
  auto type = c10::InterfaceType::create(freeName(cls), isModuleClass(cls));
  currentProgram().registerType(type);
  publishClass(cls, type);
  for (auto [key, value] : py::dict(cls.attr("__dict__"))) {
    if (!PyFunction_Check(value.ptr())) continue;
    const Def def = readFunction(value);
    if (!def.decl().returnType().present()) {
      throw UserError(messages::unannotatedInterface(def.name().name()), def.range());
    }
    type->addMethod(schemaOf(def, currentProgram(), resolverOf(value, cls), type));
  }
  return type;
}

// ---- classes

/// Names for a text that was made from a class: placeholders for live objects.
class MadeNames : public Resolver {
 public:
  explicit MadeNames(py::handle cls) : cls_(resolverOfClass(cls)) {}
  ~MadeNames() override {
    py::gil_scoped_acquire gil;
    types_.clear();
    defaults_.clear();
  }
  void addType(const std::string& name, py::object annotation) { types_.emplace(name, std::move(annotation)); }
  void addDefault(const std::string& parameter, py::object value) { defaults_.emplace(parameter, std::move(value)); }

  bool shadowsTypes() const override { return true; }
  TypePtr resolveType(const std::string& name, const SourceRange& range) override {
    py::gil_scoped_acquire gil;
    auto it = types_.find(name);
    return it == types_.end() ? cls_->resolveType(name, range) : requireTypeOfAnnotation(it->second, range, cls_);
  }
  SugaredValuePtr resolveValue(const std::string& name, EmitContext& cx, const SourceRange& range) override {
    constexpr std::string_view kPrefix = "_default_of_";
    if (!name.starts_with(kPrefix)) return cls_->resolveValue(name, cx, range);
    py::gil_scoped_acquire gil;
    return sugarOf(defaults_.at(name.substr(kPrefix.size())), cx, range, name);
  }
  std::optional<IValue> resolveDefault(
      const std::string& name, const TypePtr& type, const SourceRange& range) override {
    py::gil_scoped_acquire gil;
    auto it = defaults_.find(name);
    if (it == defaults_.end()) return std::nullopt;
    try {
      return toIValue(it->second.ptr(), type);
    } catch (const CastError& error) {
      throw UserError("the default of field '" + name + "': " + error.what(), range);
    }
  }

 private:
  ResolverPtr cls_;
  std::unordered_map<std::string, py::object> types_, defaults_;
};

/// What @dataclass generates has no source; these are its methods as TorchScript.
class DataclassMethods {
 public:
  DataclassMethods(py::handle cls, const SourceRange& range) : cls_(cls), range_(range) {
    py::handle missing = known("dataclasses", "MISSING");
    py::object parameters = cls.attr("__dataclass_params__");
    order_ = py::cast<bool>(parameters.attr("order"));
    eq_ = py::cast<bool>(parameters.attr("eq"));
    names_ = std::make_shared<MadeNames>(cls);
    for (auto [key, field] : py::dict(cls.attr("__dataclass_fields__"))) {
      const py::object kind = field.attr("_field_type");
      if (kind.is(known("dataclasses", "_FIELD_CLASSVAR"))) continue;
      Field f;
      f.init_only = kind.is(known("dataclasses", "_FIELD_INITVAR"));
      f.name = py::cast<std::string>(field.attr("name"));
      f.init = py::cast<bool>(field.attr("init"));
      f.compare = py::cast<bool>(field.attr("compare"));
      f.keyword_only = py::cast<bool>(py::getattr(field, "kw_only", py::bool_(false)));
      if (field.attr("default_factory").ptr() != missing.ptr()) {
        throw UserError(
            "Default factory initializers are not supported in TorchScript dataclasses: field '" + f.name + "' of '" +
                shortName(cls) + "' has one; assign the value in __post_init__",
            range);
      }
      f.has_default = field.attr("default").ptr() != missing.ptr();
      if (f.has_default) names_->addDefault(f.name, field.attr("default"));
      py::object type = field.attr("type");
      if (f.init_only && py::hasattr(type, "type")) type = type.attr("type");  // InitVar[T]
      names_->addType("_type_of_" + f.name, type);
      fields_.push_back(std::move(f));
    }
  }

  /// Fields are attributes whether __init__ sets them or not.
  void addFields(c10::ClassType& type) const {
    for (const Field& f : fields_) {
      if (!f.init_only) type.addAttribute(f.name, names_->resolveType("_type_of_" + f.name, range_));
    }
  }

  /// The method's text; "" if the dataclass does not generate it.
  std::string textOf(const std::string& method) const {
    if (method == "__init__") return initText();
    static constexpr std::pair<std::string_view, std::string_view> kOrders[] = {
        {"__lt__", "<"}, {"__le__", "<="}, {"__gt__", ">"}, {"__ge__", ">="}};
    if (method == "__eq__" && eq_) return compareText(method, "==");
    for (const auto& [name, op] : kOrders) {
      if (method == name && order_) return compareText(method, std::string(op));
    }
    return "";
  }
  const ResolverPtr names() const { return names_; }

 private:
  struct Field {
    std::string name;
    bool init, compare, keyword_only, has_default;
    bool init_only;  // InitVar: a parameter of __init__ and __post_init__, and no attribute
  };

  std::string initText() const {
    std::string parameters = "self", body;
    bool star = false;
    for (const bool keyword_only : {false, true}) {
      for (const Field& f : fields_) {
        if (!f.init || f.keyword_only != keyword_only) continue;
        if (keyword_only && !star) {
          parameters += ", *";
          star = true;
        }
        parameters += ", " + f.name + ": _type_of_" + f.name;
        if (f.has_default) parameters += " = 0";  // the value is the live one
      }
    }
    std::string passed_on;
    for (const Field& f : fields_) {
      if (f.init_only) {
        passed_on += (passed_on.empty() ? "" : ", ") + f.name;
        continue;
      }
      if (f.init) body += "  self." + f.name + " = " + f.name + "\n";
      if (!f.init && f.has_default) body += "  self." + f.name + " = _default_of_" + f.name + "\n";
    }
    if (attributeOrNull(cls_, "__post_init__")) body += "  self.__post_init__(" + passed_on + ")\n";
    if (body.empty()) body = "  pass\n";
    return "def __init__(" + parameters + ") -> None:\n" + body;
  }

  std::string compareText(const std::string& method, const std::string& op) const {
    std::string text = "def " + method + "(self, other: _type_of_self) -> bool:\n";
    names_->addType("_type_of_self", py::reinterpret_borrow<py::object>(cls_));
    std::vector<const Field*> compared;
    for (const Field& f : fields_) {
      if (f.compare && !f.init_only) compared.push_back(&f);
    }
    // Lexicographic: the first field that differs decides.
    for (const Field* f : compared) {
      const std::string a = "_self_" + f->name, b = "_other_" + f->name;
      text += "  " + a + " = self." + f->name + "\n  " + b + " = other." + f->name + "\n";
      const bool optional = names_->resolveType("_type_of_" + f->name, range_)->kind() == c10::TypeKind::OptionalType;
      const std::string indent = optional ? "    " : "  ";
      if (optional) text += "  if " + a + " is not None and " + b + " is not None:\n";
      text += indent + "if " + a + " != " + b + ":\n" + indent + "  return ";
      text += op == "==" ? "False\n" : "bool(" + a + " " + op.substr(0, 1) + " " + b + ")\n";  // of a tensor too
      if (!optional) continue;
      text += "  elif (" + a + " is None) != (" + b + " is None):\n    ";
      text += op == "==" ? "return False\n"
                         : "raise TypeError(\"'" + op + "' not supported for None, in the field '" + f->name + "'\")\n";
    }
    return text + "  return " + (op.size() == 2 ? "True" : "False") + "\n";
  }

  py::handle cls_;
  SourceRange range_;
  std::vector<Field> fields_;
  std::shared_ptr<MadeNames> names_;
  bool order_ = false, eq_ = true;
};

class ClassScripter {
 public:
  ClassScripter(py::handle cls, const SourceRange& range) : cls_(cls), range_(range), place_(placeOf(cls)) {
    if (!place_) place_ = range;
  }

  TypePtr define() {
    check();
    Program& program = currentProgram();
    py::object doc = attributeOrNull(cls_, "__doc__");
    const std::string text = doc && PyUnicode_Check(doc.ptr()) ? py::cast<std::string>(doc) : "";
    type_ = c10::ClassType::create(freeName(cls_), program.asCompilationUnit(), /*is_module=*/false, text);
    program.registerType(type_);
    publishClass(cls_, type_);
    addConstants();
    if (py::hasattr(cls_, "__dataclass_fields__")) {
      dataclass_.emplace(cls_, place_);
      dataclass_->addFields(*type_);
    }
    addMembers();
    return type_;
  }

 private:
  void check() {
    const std::string name = shortName(cls_);
    if (isModuleClass(cls_)) {
      throw UserError(
          "Type '" + shortRepr(cls_.ptr()) +
              "' cannot be compiled since it inherits from nn.Module, pass an instance instead",
          place_);
    }
    for (py::handle base : cls_.attr("__mro__")) {
      if (base.is(cls_) || isPlainBase(base)) continue;
      const auto flags = reinterpret_cast<PyTypeObject*>(base.ptr())->tp_flags;
      if (!(flags & Py_TPFLAGS_HEAPTYPE)) {
        throw UserError(
            "class '" + name + "' inherits from '" + shortName(base) +
                "', which is no class of Python code: a script class can't be one (TorchScript classes does not "
                "support "
                "inheritance yet from builtin classes)",
            place_);
      }
    }
  }

  /// object, Generic, Protocol, ABC: bases that give nothing to instances.
  static bool isPlainBase(py::handle base) {
    return base.is(py::handle(reinterpret_cast<PyObject*>(&PyBaseObject_Type))) ||
           base.is(known("typing", "Generic")) || base.is(known("typing", "Protocol")) || base.is(known("abc", "ABC"));
  }

  /// Bases of Python's and torch's own, whose methods are for Python (contextlib.ContextDecorator).
  static bool isOfLibrary(py::handle base) {
    static py::handle standard = known("sys", "stdlib_module_names");
    auto module = py::cast<std::string>(py::str(base.attr("__module__")));
    module = module.substr(0, module.find('.'));
    return module == "torch" || standard.contains(module);
  }

  /// `x: Final[int] = 3` and `x = 3` of the body: what Python finds on the class.
  void addConstants() {
    std::set<std::string> fields;
    if (py::hasattr(cls_, "__dataclass_fields__")) {
      for (py::handle field : known("dataclasses", "fields")(cls_))
        fields.insert(py::cast<std::string>(field.attr("name")));
    }
    for (py::handle base : cls_.attr("__mro__")) {
      if (isPlainBase(base)) continue;
      for (auto [key, value] : py::dict(base.attr("__dict__"))) {
        auto name = py::cast<std::string>(py::str(key));
        if (name.starts_with("__")) continue;
        if (fields.contains(name)) name = hiddenConstant(name);  // the default, which the class has
        if (type_->findConstant(name)) continue;
        if (auto constant = constantOf(value)) type_->addConstant(name, *constant);
      }
    }
  }

  void addMembers() {
    // In order of definition, overridden ones where the overriding class has them.
    std::unordered_map<std::string, bool> seen;
    for (py::handle base : cls_.attr("__mro__")) {
      if (isPlainBase(base) || (!base.is(cls_) && isOfLibrary(base))) continue;
      for (auto [key, value] : py::dict(base.attr("__dict__"))) {
        const auto name = py::cast<std::string>(py::str(key));
        if (!seen.emplace(name, true).second) continue;
        owner_ = base;
        addMember(name, value);
      }
    }
    for (const auto& property : properties_) type_->addProperty(property.name, property.getter, property.setter);
  }

  void addMember(const std::string& name, py::handle member) {
    if (PyFunction_Check(member.ptr())) return addMethod(name, member);
    if (py::isinstance(member, py::handle(reinterpret_cast<PyObject*>(&PyStaticMethod_Type)))) {
      const py::object function = member.attr("__func__");
      if (isDropped(function)) return;
      type_->addStaticMethod(&declare(function, name, nullptr));
    } else if (py::isinstance(member, py::handle(reinterpret_cast<PyObject*>(&PyClassMethod_Type)))) {
      const py::object function = member.attr("__func__");
      if (isDropped(function)) return;
      MethodOptions options;
      options.name = c10::QualifiedName(*type_->name(), name);
      options.range = range_;
      options.class_method_of = type_;
      options.resolver = resolverOf(function, owner_);
      type_->addStaticMethod(&declareMethod(function, options));
    } else if (py::isinstance(member, py::handle(reinterpret_cast<PyObject*>(&PyProperty_Type)))) {
      addProperty(name, member);
    }
  }

  static bool isDropped(py::handle function) { return markOf(function) == Mark::IgnoreDrop; }

  void addMethod(const std::string& name, py::handle function) {
    if (isDropped(function)) return;
    if (dataclass_ && isGenerated(function)) {
      const std::string text = dataclass_->textOf(name);
      if (text.empty()) return;
      MethodOptions options;
      options.name = c10::QualifiedName(*type_->name(), name);
      options.self_type = type_;
      options.range = range_;
      options.resolver = dataclass_->names();
      auto source = std::make_shared<const Source>(text, "dataclass " + shortName(cls_));
      type_->addMethod(&declareText(SourceParser(source).parseFunction(), options));
      return;
    }
    // What a decorator or a metaclass put here and no file holds is Python's affair: __init_subclass__ of Protocol, ….
    if (isGenerated(function)) return;
    type_->addMethod(&declare(function, name, type_));
  }

  /// Made by exec, as dataclasses makes its methods.
  static bool isGenerated(py::handle function) {
    const auto file = py::cast<std::string>(function.attr("__code__").attr("co_filename"));
    return file == "<string>" || file.find("/dataclasses.py") != std::string::npos ||
           file.find("/reprlib.py") != std::string::npos;
  }

  Function& declare(py::handle function, const std::string& name, const TypePtr& self) {
    MethodOptions options;
    options.name = c10::QualifiedName(*type_->name(), name);
    options.self_type = self;
    options.range = range_;
    options.resolver = resolverOf(function, owner_);
    return declareMethod(function, options);
  }

  void addProperty(const std::string& name, py::handle property) {
    py::object getter = property.attr("fget"), setter = property.attr("fset");
    if (getter.is_none() || markOf(getter) == Mark::Unused || isDropped(getter)) return;
    Function& get = declare(getter, "__" + name + "_getter", type_);
    type_->addMethod(&get);
    Function* set = nullptr;
    if (!setter.is_none()) {
      set = &declare(setter, "__" + name + "_setter", type_);
      type_->addMethod(set);
    }
    properties_.push_back({name, &get, set});
  }

  py::handle cls_;
  py::handle owner_;  // the class in whose body the member stands that is being added: this one, or a base
  SourceRange range_, place_;
  c10::ClassTypePtr type_;
  std::optional<DataclassMethods> dataclass_;
  std::vector<c10::ClassType::Property> properties_;
};

}  // namespace

TypePtr knownTypeOfClass(py::handle cls) {
  auto& known_types = KnownClasses::get().types;
  auto it = known_types.find(cls.ptr());
  if (it == known_types.end()) return nullptr;
  std::shared_ptr<Program> program = it->second.program.lock();
  if (!program) return nullptr;
  ScriptSession::hold(std::move(program));
  return it->second.type;
}

void publishClass(py::handle cls, TypePtr type) {
  auto& table = KnownClasses::get();
  PyObject* const key = cls.ptr();
  const auto erase = [key] { KnownClasses::get().erase(key); };
  erase();
  table.classes.emplace(type.get(), key);
  table.types.emplace(
      key, KnownClasses::Entry{weakReference(cls, erase), std::move(type), currentProgram().weak_from_this(), nullptr});
  ScriptSession::onRollback(erase);
}

void keepType(py::handle cls) {
  auto& types = KnownClasses::get().types;
  const auto it = types.find(cls.ptr());
  if (it != types.end()) it->second.kept = it->second.program.lock();
}

py::object pythonClassOf(const c10::Type& type) {
  auto& table = KnownClasses::get();
  auto it = table.classes.find(&type);
  return it == table.classes.end() ? py::object() : strongReference(table.types.at(it->second).weak);
}

TypePtr typeOfClass(py::handle cls, const SourceRange& range) {
  if (TypePtr type = knownTypeOfClass(cls)) return type;
  try {
    if (isSubclass(cls, known("enum", "Enum"))) return enumType(cls, range);
    if (isNamedTuple(cls)) return namedTupleType(cls, range);
    py::dict own(cls.attr("__dict__"));
    if (own.contains("__torch_script_interface__")) return interfaceType(cls, range);
    return ClassScripter(cls, range).define();
  } catch (const UserError& error) {
    const SourceRange& place = error.range();
    const bool elsewhere =
        range && place && (place.source != range.source || place.end <= range.begin || range.end <= place.begin);
    if (!elsewhere) throw;
    throw error.withCaller(shortName(cls), range);
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw UserError(error.msg(), range);  // a rule of c10's types that nothing here checked before
  }
}

}  // namespace cresset::python
