# Unit tests of the scheduler's data structures; each compiles the sources it tests, nothing else.
add_executable(timer_heap_test ${CMAKE_CURRENT_LIST_DIR}/timer_heap_test.cpp
               ${PROJECT_SOURCE_DIR}/runtime/scheduler/timer_heap.cpp)
target_include_directories(timer_heap_test PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
add_test(NAME timer_heap COMMAND timer_heap_test)
