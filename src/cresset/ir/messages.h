// Messages of errors that this folder has at several places, each written once. What one place says alone stands there.
#pragma once

#include <string>

namespace cresset::messages {

inline std::string nothingBeforeInputs() {
  return "Nothing can stand before the inputs of a block.";
}
inline std::string nothingAfterOutputs() {
  return "Nothing can stand after the outputs of a block.";
}
inline std::string isInBlock() {
  return "The node is in a block already; move it instead.";
}
inline std::string onlyEndsOfBlocks() {
  return "Only the ends of a block are prim::Param and prim::Return.";
}
inline std::string usedOutside(const std::string& value) {
  return "Can't erase %" + value + ": it is in use outside of its block.";
}
inline std::string replacedFromElsewhere(const std::string& value) {
  return "Can't replace %" + value + " by a value of another graph.";
}
inline std::string noDevice(const std::string& text) {
  return "'" + text + "' is no device";
}
/// Of what is read or printed: "types", "values", "constants".
inline std::string nestTooDeep(const std::string& what, int most) {
  return what + " nest deeper than " + std::to_string(most) + " levels";
}
inline std::string noAttribute(const std::string& object, const std::string& name) {
  return object + " has no attribute '" + name + "'";
}
inline std::string hasBeenErased(const std::string& action, const std::string& what) {
  return "Can't " + action + " a " + what + " that has been erased.";
}

}  // namespace cresset::messages
