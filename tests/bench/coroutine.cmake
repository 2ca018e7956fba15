# Benchmark of runtime/coroutine; left out where Google Benchmark or Boost.Context is missing.
find_package(benchmark QUIET)
find_library(BOOST_CONTEXT_LIBRARY boost_context)
if(benchmark_FOUND AND BOOST_CONTEXT_LIBRARY AND NOT WISP_SANITIZE)
  add_executable(wisp_switch_bench ${CMAKE_CURRENT_LIST_DIR}/switch_bench.cpp)
  target_link_libraries(wisp_switch_bench PRIVATE
    wisp_coroutine benchmark::benchmark ${BOOST_CONTEXT_LIBRARY} ${CMAKE_DL_LIBS})
endif()
