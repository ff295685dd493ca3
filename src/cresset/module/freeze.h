// Freezing: a module whose attributes are part of its code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cresset/module/module.h"

namespace cresset {

/// A new module of the methods `forward` and those in `preserved_attrs`, inlined, with the values of attributes as
/// constants: of those that no such method writes to, that share no memory with what stays, and that are not in
/// `preserved_attrs` ("scale", "encoder.scale"; a submodule stays as a whole). Lists, dicts and tuples are put together
/// anew in each call; one of many parts stays an attribute. What nothing uses any more is gone,
/// `training` and submodules too. Tensors are shared with `module`, which does not change.
///
/// With optimize_numerics, batch norms and arithmetic go into the weights of what is before them (docs/passes.md),
/// which changes bits. Throws UserError if the module is in training mode, has no such attribute, or returns itself.
Module freeze(
    const Module& module, const std::optional<std::vector<std::string>>& preserved_attrs = std::nullopt,
    bool optimize_numerics = true);

struct FreezeOptions {
  std::vector<std::string> preserved;  // as preserved_attrs of freeze
  /// Parameters stay attributes wherever they are read, and so does `training`. Both do of a module in training mode.
  bool keep_parameters = false, keep_training = false;
};

/// freeze without what it does at its end (run_frozen_optimizations), for a module in training mode too.
Module freeze_module(const Module& module, const FreezeOptions& options = {});

/// What freeze does to the graphs of methods at its end, for a frozen module that has not run: `forward` and those
/// named.
void run_frozen_optimizations(
    const Module& module, bool optimize_numerics = true, const std::vector<std::string>& preserved_methods = {});

/// freeze, in evaluation mode, to which `module` itself goes, or a clone of a module that is frozen already; and its
/// convolutions may compute in a layout of their own (passes/channels_last.h). The module itself if that is so already.
Module optimize_for_inference(const Module& module, const std::vector<std::string>& other_methods = {});

/// A clone of its classes and methods, properties left out, that shares attribute values. Nothing else uses its
/// classes, which may therefore lose attributes. The caller holds a DefinitionScope.
Module cloneWithoutProperties(const Module& module);

}  // namespace cresset
