# The pages and traces that the command writes, in a real browser and in Perfetto.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME browser
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/browser_test.py $<TARGET_FILE:wisp>)
set_tests_properties(browser PROPERTIES LABELS browser TIMEOUT 600 SKIP_RETURN_CODE 77)
