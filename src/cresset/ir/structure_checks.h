// How the types of structural nodes must agree: the functions that structural.def names in its column `check`. Internal
// to structure.cpp and structure_checks.cpp.
#pragma once

#include <string>

#include "cresset/ir/graph.h"

namespace cresset::structure {

/// What is wrong with a node; thrown by checks, caught by complaintAbout.
struct Complaint {
  std::string text;
};

[[noreturn]] void complain(std::string text);
std::string text(const TypePtr& type);
std::string name(const Value* value);
/// "1 input", "2 inputs"
std::string plural(size_t n, const char* noun);
const Attribute& expectAttribute(const Node& n, Symbol attribute, Attribute::Kind kind);

void checkConstant(const Node& n);
void checkIf(const Node& n);
void checkLoop(const Node& n);
void checkTupleConstruct(const Node& n);
void checkTupleUnpack(const Node& n);
void checkTupleIndex(const Node& n);
void checkTupleSlice(const Node& n);
void checkListConstruct(const Node& n);
void checkListUnpack(const Node& n);
void checkDictConstruct(const Node& n);
void checkGetAttr(const Node& n);
void checkSetAttr(const Node& n);
void checkCallFunction(const Node& n);
void checkIsinstance(const Node& n);
void checkUncheckedCast(const Node& n);
void checkApart(const Node& n);
void checkBailOut(const Node& n);
void checkSubgraph(const Node& n);

}  // namespace cresset::structure
