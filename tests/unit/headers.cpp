// Of the target that compiles the headers of all unit tests once; tests/CMakeLists.txt lists them.
