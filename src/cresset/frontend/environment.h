// What names mean while a function is compiled: a stack of frames, one per open block.
//
// A frame records only what was bound while it was on top, so opening and closing a block costs as much as was assigned
// in it, however many variables are in scope. Closing a frame hands it back, and the emitter makes of its bindings
// outputs of prim::If or prim::Loop: this is where SSA form comes from.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cresset/frontend/sugared_value.h"

namespace cresset {

/// What a name is bound to: a value of the graph, a sugared value, or the reason why it may not be used.
struct Binding {
  Value* value = nullptr;   // first-class
  SugaredValuePtr sugared;  // not first-class
  TypePtr type;             // of the variable; `value` may have a narrower one
  /// The value that `value` is a refined view of (prim::unchecked_cast). A refinement is no assignment: where branches
  /// meet it needs no output.
  Value* refines = nullptr;
  /// What may be assigned to the name, if that is more than `type`: see FunctionEmitter::keepDeclared.
  TypePtr declared;
  /// The type where the statement that bound the name falls through, if that is narrower: a branch that left by `break`
  /// or `continue` has a say in `type` alone.
  TypePtr falls_as;
  /// Whether `value` is uninitialized where a branch left by `break` or `continue` before the name was bound. Nothing
  /// may read it after the loop, or in the next iteration.
  bool partial = false;
  std::string error;  // why the name may not be used
  SourceRange error_range;

  static Binding of(Value* value, TypePtr type) {
    Binding b;
    b.value = value;
    b.type = std::move(type);
    return b;
  }
  static Binding unusable(std::string error, SourceRange range) {
    Binding b;
    b.error = std::move(error);
    b.error_range = std::move(range);
    return b;
  }
  Value* root() const { return refines ? refines : value; }
  const TypePtr& takes() const { return declared ? declared : type; }
};

struct Frame {
  std::unordered_map<std::string, Binding> bindings;
  std::vector<std::string> order;                         // of the names, as they were first bound
  std::unordered_map<std::string, TypePtr> declarations;  // `x: T` without a value
  /// Variables bound here hide those of outer frames instead of being assignments to them (comprehensions).
  bool isolated = false;
  /// Holds the rest of the list that the frame below began, after a statement that may have left it: an assignment here
  /// is one in that list, and may change the type of what the list bound.
  bool continues = false;
};
using FramePtr = std::unique_ptr<Frame>;

class Environment {
 public:
  void push(FramePtr frame) { frames_.push_back(std::move(frame)); }
  void push() { frames_.push_back(std::make_unique<Frame>()); }
  FramePtr pop();
  Frame& top() { return *frames_.back(); }

  /// The innermost binding; null if there is none. Stays valid until the name is bound again in that frame.
  Binding* find(const std::string& name);
  /// As find, but the list of statements that the top frame belongs to is left out: what an assignment in it has to
  /// agree with.
  Binding* findOuter(const std::string& name);
  void bind(const std::string& name, Binding binding) {
    const auto [it, fresh] = top().bindings.insert_or_assign(name, std::move(binding));
    if (fresh) top().order.push_back(name);
  }
  /// Names bound by the program, for "did you mean".
  std::vector<std::string> names() const;

 private:
  Binding* findBelow(const std::string& name, size_t depth);
  std::vector<FramePtr> frames_;
};

}  // namespace cresset
