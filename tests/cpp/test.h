// doctest, after c10's logging macros: both define CHECK, and the later definition wins silently.
#pragma once

#include <c10/util/Logging.h>

#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_GE
#undef CHECK_GT
#include <doctest/doctest.h>

#include <string_view>

/// For tests in one thread that take minutes under ThreadSanitizer, which has nothing to see in them: `*
/// slow_under_threads`.
#ifdef __SANITIZE_THREAD__
inline const doctest::skip slow_under_threads(true);
#else
inline const doctest::skip slow_under_threads(false);
#endif

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
