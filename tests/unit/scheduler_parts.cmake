# Unit tests of the scheduler's data structures; each compiles the sources it tests, nothing else.
wisp_unit_test(timer_heap_test
  SOURCES ${CMAKE_CURRENT_LIST_DIR}/timer_heap_test.cpp
          ${PROJECT_SOURCE_DIR}/runtime/scheduler/timer_heap.cpp
  ONE_THREAD)
wisp_unit_test(clock_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/clock_test.cpp LIBS wisp_platform)
wisp_unit_test(run_queue_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/run_queue_test.cpp)
wisp_unit_test(backoff_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/backoff_test.cpp)
wisp_unit_test(forecast_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/forecast_test.cpp
  LIBS wisp_platform)
wisp_unit_test(attendance_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/attendance_test.cpp
  LIBS wisp_platform)
wisp_unit_test(running_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/running_test.cpp
  LIBS wisp_platform)
wisp_unit_test(pace_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/pace_test.cpp
  ONE_THREAD)
wisp_unit_test(patience_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/patience_test.cpp
  ONE_THREAD)
wisp_unit_test(last_look_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/last_look_test.cpp
  ONE_THREAD)
wisp_unit_test(width_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/width_test.cpp
  ONE_THREAD)
wisp_unit_test(narrow_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/narrow_test.cpp
  ONE_THREAD)
wisp_unit_test(spread_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/spread_test.cpp
  ONE_THREAD)
wisp_unit_test(trim_pace_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/trim_pace_test.cpp
  ONE_THREAD)
wisp_unit_test(placement_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/placement_test.cpp
  LIBS wisp_scheduler)
