// How control leaves a list of statements.
//
// TorchScript's graphs have no jumps, so `return`, `break` and `continue` become values: three booleans that say how
// far the program is still going on. Where one of them is the same on all paths it is a constant here and costs no
// node; where it differs it is a bool of the graph that merges like a variable, and what follows is emitted inside a
// prim::If on it.
#pragma once

#include "cresset/ir/graph.h"

namespace cresset {

/// A boolean: known while compiling, or a value of the graph.
struct Flag {
  bool constant = true;  // if `value` is null
  Value* value = nullptr;
  bool isTrue() const { return !value && constant; }
  bool isFalse() const { return !value && !constant; }
  bool operator==(const Flag& other) const { return value == other.value && (value || constant == other.constant); }
};

/// falls implies stays, and stays implies live.
struct Flow {
  Flag falls;               // the end of the list is reached: the statement after it runs
  Flag stays;               // the enclosing loop continues: no `break` and no `return` ran
  Flag live;                // no `return` ran
  Value* result = nullptr;  // what was returned, where not live; null if nothing was
  /// An exception was raised on all paths, or a loop never ends: nothing after this ever runs, and neither flags nor
  /// variables matter.
  bool dead = false;

  /// Whether no statement after this one in the list can run.
  bool ends() const { return dead || falls.isFalse(); }
  /// Whether control goes elsewhere on all paths, so that variables matter, but not to what follows in the list.
  bool leaves() const { return !dead && falls.isFalse(); }
  /// Whether no later code can see the variables assigned here.
  bool forgets() const { return dead || live.isFalse(); }

  static Flow raised() {
    Flow flow;
    flow.dead = true;
    return flow;
  }
  static Flow broke() {
    Flow flow;
    flow.falls.constant = flow.stays.constant = false;
    return flow;
  }
  static Flow continued() {
    Flow flow;
    flow.falls.constant = false;
    return flow;
  }
  static Flow returned(Value* result) {
    Flow flow = broke();
    flow.live.constant = false;
    flow.result = result;
    return flow;
  }
};

}  // namespace cresset
