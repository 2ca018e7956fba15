# The signal layer and joining, without preload: the C functions that use them are tested preloaded,
# in tests/preload. (A sanitizer's runtime puts off signals by itself.)
if(NOT WISP_SANITIZE)
  wisp_unit_test(wisp_signal_test
    SOURCES unit/signal_test.cpp
    LIBS wisp_signal wisp_sync wisp_scheduler)
  wisp_carriers_test(wisp_signal_test)
  wisp_unit_test(wisp_thread_environment_test
    SOURCES unit/thread_environment_test.cpp ${CMAKE_SOURCE_DIR}/runtime/jvm/environment.cpp
    LIBS wisp_platform)
endif()
wisp_unit_test(wisp_thread_join_test
  SOURCES unit/thread_join_test.cpp
  LIBS wisp_sync wisp_scheduler)
wisp_carriers_test(wisp_thread_join_test)
