wisp_unit_test(wisp_io_test
  SOURCES unit/io_transfer_test.cpp unit/io_wait_test.cpp unit/io_life_test.cpp
  LIBS wisp_io wisp_signal wisp_sync wisp_scheduler)
foreach(carriers 1 4)
  add_test(NAME wisp_io_test.carriers_${carriers} COMMAND wisp_io_test --gtest_brief=1)
  set_tests_properties(wisp_io_test.carriers_${carriers} PROPERTIES
    ENVIRONMENT WISP_TEST_CARRIERS=${carriers} TIMEOUT 240)
endforeach()
