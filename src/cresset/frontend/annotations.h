// The shapes of annotations that definitions look at beyond their type. Internal to frontend/.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cresset/frontend/sugared_value.h"
#include "cresset/frontend/tree_views.h"

namespace cresset {

/// "a.b.c" for names and selections from names; "" for other expressions.
std::string dottedName(const Expr& expr);
/// The type arguments of `List[int]`, `Tuple[()]`, `Dict[str, int]`.
std::vector<Expr> typeArguments(const Subscript& expr);
/// Final or Final[T].
bool isFinal(const Expr& annotation);
/// `BroadcastingList2[int]`, `_size_2_t`: a List[int] for which a caller may give one int that stands for two. `read`
/// reads types.
std::optional<std::pair<TypePtr, int32_t>> broadcastingList(
    const Expr& annotation, const std::function<TypePtr(const Expr&)>& read);

/// The type of a parameter without annotation: a tensor, remembered as inferred. c10's own `TensorType::getInferred`
/// writes to the type at each call, which is a race between threads.
const TypePtr& inferredTensorType();

}  // namespace cresset
