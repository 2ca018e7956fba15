// Reading plain fields while their owner writes them: torn values are impossible for aligned words,
// stale ones are what an observer expects. ThreadSanitizer cannot know.
#pragma once

#define WISP_PEEKS __attribute__((no_sanitize("thread")))

namespace wisp::stats {

template <typename T>
WISP_PEEKS T peek(const T& field) {
  return *const_cast<const volatile T*>(&field);
}

}  // namespace wisp::stats
