// Runs the first instructions of frames here and the rest in CPython's evaluator: what proves that frames can be given
// back anywhere, and the test of the layout of frames that is made when capture is first used.
#pragma once

#include "cresset/capture/python.h"

namespace cresset::capture {

/// Why frames can't be run here; null if they can. The first call tests the layout of frames (needs the GIL; may run
/// Python code); while tools watch this thread, which have all frames, that waits. Text that lives for ever.
const char* whyFramesAreUnknown();

/// The answer while tools watch.
extern const char* const kToolsWatch;

/// Calls `callable(*arguments, **keywords)` (`keywords` may be null); of each frame that begins, or goes on, on this
/// thread meanwhile and whose code is `code`, the first `count` instructions run here. `run` is increased by how many
/// did. A new reference, or null with an exception set.
PyObject* callWithCut(
    PyObject* callable, PyObject* arguments, PyObject* keywords, PyObject* code, long count, long& run);

}  // namespace cresset::capture
