// Messages of errors that compiling has at several places, each written once. What one place says alone stands there.
#pragma once

#include <cstdint>
#include <string>

namespace cresset::messages {

inline std::string tupleIndex(size_t size, int64_t index) {
  return "Tuple index out of range. Tuple is length " + std::to_string(size) + " and index is " + std::to_string(index);
}
inline std::string dynamicTupleIndex(const std::string& type) {
  return "Cannot index into a " + type + " with a non-integer literal because we cannot resolve the output type";
}
inline std::string tupleOfAnyLength() {
  return "Tuple[T, ...] has no fixed length: write List[T], or one type for each element (Tuple[T, T])";
}
inline std::string keywordTwice(const std::string& name) {
  return "Keyword argument " + name + " specified twice";
}
inline std::string parameterTwice(const std::string& name) {
  return "the parameter '" + name + "' is given twice";
}
inline std::string unannotatedInterface(const std::string& method) {
  return "the interface method '" + method + "' needs an annotation of its result";
}
inline std::string noTuple(const std::string& what) {
  return what + " cannot be used as a tuple";
}
inline std::string noKeywords(const std::string& function) {
  return function + " takes no keyword arguments";
}
inline std::string unknownType(const std::string& name) {
  return "Unknown type constructor " + name;
}
inline std::string definedTwice(const std::string& name) {
  return "'" + name + "' is defined twice";
}
inline std::string oneStarred() {
  return "Only one starred expression is allowed on the lhs";
}
inline std::string starredElement() {
  return "a starred expression can't be the element of a comprehension";
}
inline std::string typedAssignment() {
  return "an assignment with a type can't have several targets";
}

}  // namespace cresset::messages
