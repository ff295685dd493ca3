// Python annotations to types. Objects are recognised by identity: `typing.List` is a list whatever name it was
// imported under, and a user's class that happens to be called `Device` is that class.
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <unordered_map>
#include <unordered_set>

#include "cresset/frontend/messages.h"
#include "cresset/ir/parser.h"
#include "cresset/python/script_names.h"

namespace cresset::python {

namespace {

/// The object that the dotted path names, imported now; null if this torch or Python lacks it.
py::object importPath(const char* module, const char* name) {
  try {
    py::object object = py::module_::import(module);
    const std::string path(name);
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::min(path.find('.', begin), path.size());
      object = object.attr(path.substr(begin, end - begin).c_str());
      begin = end + 1;
    }
    return object;
  } catch (py::error_already_set&) {
    return {};
  }
}

template <typename Value>
using ByIdentity = std::unordered_map<PyObject*, Value>;

template <typename Value>
void addKnown(ByIdentity<Value>& table, const char* module, const char* name, Value value) {
  // Kept for ever, so that the address stays taken.
  if (py::object object = importPath(module, name)) table.emplace(object.release().ptr(), std::move(value));
}

/// torch.LongTensor and its like.
const std::unordered_set<PyObject*>& dtypeClasses() {
  static const auto* classes = [] {
    auto* found = new std::unordered_set<PyObject*>;
    for (const char* name :
         {"FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "ByteTensor", "CharTensor", "ShortTensor",
          "IntTensor", "LongTensor", "BoolTensor"}) {
      if (py::object cls = importPath("torch", name)) found->insert(cls.release().ptr());  // kept, as in addKnown
    }
    return found;
  }();
  return *classes;
}

const ByIdentity<TypePtr>& plainTypes() {
  static const auto* table = [] {
    using namespace c10;
    auto* types = new ByIdentity<TypePtr>;
    const TypePtr tensor = TensorType::get(), integer = IntType::get();
    const auto add = [&](const char* module, const char* name, const TypePtr& type) {
      addKnown(*types, module, name, type);
    };
    add("builtins", "int", integer);
    add("builtins", "float", FloatType::get());
    add("builtins", "bool", BoolType::get());
    add("builtins", "complex", ComplexType::get());
    add("builtins", "str", StringType::get());
    add("builtins", "None", NoneType::get());
    add("builtins", "object", AnyType::get());
    types->emplace(reinterpret_cast<PyObject*>(Py_TYPE(Py_None)), NoneType::get());
    add("typing", "Any", AnyType::get());
    add("numbers", "Number", NumberType::get());
    add("torch", "Tensor", tensor);
    add("torch.nn", "Parameter", tensor);
    for (PyObject* cls : dtypeClasses()) types->emplace(cls, tensor);
    add("torch", "device", DeviceObjType::get());
    add("torch", "Generator", GeneratorType::get());
    add("torch", "Stream", StreamObjType::get());
    for (const char* name : {"dtype", "layout", "memory_format", "qscheme", "SymInt"}) add("torch", name, integer);
    add("torch", "Size", ListType::ofInts());
    return types;
  }();
  return *table;
}

const ByIdentity<std::string>& constructors() {
  static const auto* table = [] {
    auto* names = new ByIdentity<std::string>;
    for (const char* name : {"List", "Dict", "Tuple", "Optional", "Union", "Final", "Any", "Callable"})
      addKnown<std::string>(*names, "typing", name, name);
    for (const char* name : {"list", "dict", "tuple"}) addKnown<std::string>(*names, "builtins", name, name);
    addKnown<std::string>(*names, "typing_extensions", "Final", "Final");
    addKnown<std::string>(*names, "torch.jit", "Final", "Final");
    addKnown<std::string>(*names, "torch.futures", "Future", "Future");
    addKnown<std::string>(*names, "cresset", "Future", "Future");
    addKnown<std::string>(*names, "torch._C", "Future", "Future");
    addKnown<std::string>(*names, "torch._awaits", "_Await", "Await");
    addKnown<std::string>(*names, "torch._C", "_Await", "Await");
    addKnown<std::string>(*names, "cresset", "Await", "Await");
    addKnown<std::string>(*names, "torch.distributed.rpc", "RRef", "RRef");
    return names;
  }();
  return *table;
}

/// A generic alias: List[int], dict[str, int], Optional[C], int | None.
TypePtr typeOfAlias(py::handle alias, const py::tuple& arguments, const SourceRange& range, const ResolverPtr& names) {
  py::object origin = attributeOrNull(alias, "__origin__");
  std::string name = origin ? constructorName(origin) : std::string();
  if (py::isinstance(alias, known("types", "UnionType"))) name = "Union";
  if (name.empty()) {
    // Annotated[T, …] keeps T as its origin.
    if (origin && attributeOrNull(alias, "__metadata__")) return typeOfAnnotationObject(origin, range, names);
    return nullptr;
  }
  std::vector<TypePtr> types;
  for (py::handle argument : arguments) {
    if (argument.is(py::ellipsis())) {
      throw UserError(messages::tupleOfAnyLength(), range);
    }
    if (PyTuple_Check(argument.ptr()) && PyTuple_GET_SIZE(argument.ptr()) == 0) continue;  // Tuple[()], before 3.11
    TypePtr type = typeOfAnnotationObject(argument, range, names);
    if (!type) return nullptr;
    types.push_back(std::move(type));
  }
  // The reader of annotations knows the constructors and their rules; it reads this one with its arguments given.
  class Arguments : public Resolver {
   public:
    explicit Arguments(std::vector<TypePtr> types) : types_(std::move(types)) {}
    bool shadowsTypes() const override { return true; }
    TypePtr resolveType(const std::string& name, const SourceRange&) override {
      return name[0] == '_' ? types_.at(std::stoul(name.substr(1))) : TypePtr();
    }

   private:
    std::vector<TypePtr> types_;
  };
  std::vector<Expr> placeholders;
  for (size_t i = 0; i < types.size(); ++i)
    placeholders.push_back(Var::make(Ident::make(range, "_" + std::to_string(i))));
  if (placeholders.empty())
    placeholders.push_back(SequenceLiteral::make(TK_TUPLE_LITERAL, range, ListView<Expr>::make(range, {})));
  const Expr expr =
      Subscript::make(range, Var::make(Ident::make(range, name)), ListView<Expr>::make(range, placeholders));
  return typeOfAnnotation(expr, currentProgram(), std::make_shared<Arguments>(std::move(types)));
}

TypePtr typeOfText(const std::string& text, const SourceRange& range, const ResolverPtr& names) {
  try {
    auto source = std::make_shared<const Source>(text, "annotation");
    return typeOfAnnotation(SourceParser(std::move(source)).parseType(), currentProgram(), names);
  } catch (const UserError& error) {
    throw UserError(error.message(), range);  // the place in the program, not in the string
  }
}

thread_local int annotation_depth = 0;

}  // namespace

py::object attributeOrNull(py::handle object, const char* name) {
  py::object found = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object.ptr(), name));
  if (!found) PyErr_Clear();
  return found;
}

py::handle known(const char* module, const char* name) {
  static auto* table = new std::unordered_map<std::string, py::object>;
  py::object& entry = (*table)[std::string(module) + "." + name];
  if (!entry) {
    py::object found = importPath(module, name);
    entry = found ? std::move(found) : py::object(py::none());
  }
  return entry;
}

bool isSubclass(py::handle cls, py::handle base) {
  if (!PyType_Check(cls.ptr()) || !PyType_Check(base.ptr())) return false;
  return PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls.ptr()), reinterpret_cast<PyTypeObject*>(base.ptr()));
}

bool isPythonClass(py::handle cls) {
  if (!PyType_Check(cls.ptr())) return false;
  // Classes of C may be made at run time too, but can't be changed then.
  const unsigned long flags = reinterpret_cast<PyTypeObject*>(cls.ptr())->tp_flags;
  return (flags & Py_TPFLAGS_HEAPTYPE) && !(flags & Py_TPFLAGS_IMMUTABLETYPE) &&
         !isSubclass(cls, py::handle(reinterpret_cast<PyObject*>(&PyType_Type)));
}

bool isModuleClass(py::handle cls) {
  return isSubclass(cls, known("torch.nn", "Module"));
}

std::string constructorName(py::handle object) {
  auto it = constructors().find(object.ptr());
  return it == constructors().end() ? std::string() : it->second;
}

TypePtr plainType(py::handle object) {
  auto it = plainTypes().find(object.ptr());
  return it == plainTypes().end() ? nullptr : it->second;
}

TypePtr typeOfAnnotationObject(py::handle annotation, const SourceRange& range, const ResolverPtr& names) {
  struct Nesting {
    explicit Nesting(const SourceRange& range) {
      if (++annotation_depth > kMaxNesting) {
        --annotation_depth;
        throw UserError("the annotation is nested too deeply, or refers to itself", range);
      }
    }
    ~Nesting() { --annotation_depth; }
  } nesting(range);
  if (TypePtr type = plainType(annotation)) {
    if (dtypeClasses().contains(annotation.ptr())) {
      warnAfterCompilation(
          "TorchScript will treat type annotations of Tensor dtype-specific subtypes as if they are normal Tensors. "
          "dtype constraints are not enforced in compilation either.");
    }
    return type;
  }
  if (PyUnicode_Check(annotation.ptr())) return typeOfText(py::cast<std::string>(annotation), range, names);
  if (PyType_Check(annotation.ptr())) {
    if (isSubclass(annotation, known("torch", "Tensor"))) return c10::TensorType::get();
    if (constructorName(annotation).empty()) {
      // `list[int]` is an instance of a class that claims to be a class.
      py::object arguments = attributeOrNull(annotation, "__args__");
      if (!arguments || !PyTuple_Check(arguments.ptr())) {
        if (isModuleClass(annotation) && !knownTypeOfClass(annotation) &&
            !attributeOrNull(annotation, "__torch_script_interface__"))
          return nullptr;
        static py::handle builtins = py::object(py::str("builtins")).release();
        py::object home = attributeOrNull(annotation, "__module__");
        if (home && home.equal(builtins)) return nullptr;
        if (!isPythonClass(annotation)) return nullptr;
        return typeOfClass(annotation, range);
      }
    }
  }
  py::object arguments = attributeOrNull(annotation, "__args__");
  if (arguments && PyTuple_Check(arguments.ptr())) return typeOfAlias(annotation, arguments, range, names);
  if (py::isinstance(annotation, known("typing", "ForwardRef")))
    return typeOfText(py::cast<std::string>(annotation.attr("__forward_arg__")), range, names);
  if (py::object supertype = attributeOrNull(annotation, "__supertype__"))  // typing.NewType
    return typeOfAnnotationObject(supertype, range, names);
  return nullptr;
}

TypePtr requireTypeOfAnnotation(py::handle annotation, const SourceRange& range, const ResolverPtr& names) {
  if (TypePtr type = typeOfAnnotationObject(annotation, range, names)) return type;
  throw UserError("Unknown type annotation: '" + shortRepr(annotation.ptr()) + "'", range);
}

}  // namespace cresset::python
