# Tests of the pages for people: include()d by the folder above.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME docs.links COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/links_test.py ${CMAKE_SOURCE_DIR})
set_tests_properties(docs.links PROPERTIES LABELS docs TIMEOUT 60)
