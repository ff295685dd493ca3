// Reading the layout of PyTorch 1.0 to 1.2 (model.json). Internal to archive/; docs/archives.md describes the layout.
#pragma once

#include <ATen/core/ivalue.h>

#include <memory>
#include <vector>

#include "cresset/archive/source_importer.h"
#include "cresset/archive/unpickler.h"

namespace cresset {

/// The root module, made in `program`. `context` reads values; its tensor table is filled here. What goes into
/// `context.pending` is to be restored by the caller. Throws ArchiveError, and what c10 and the front end throw.
c10::intrusive_ptr<c10::ivalue::Object> readModelJson(
    UnpickleContext& context, const std::shared_ptr<SourceImporter>& importer, Program& program);

}  // namespace cresset
