# What the library itself links. All of it is private: no public header names a third party.
find_package(HeedOpenBLAS MODULE REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(nlohmann_json REQUIRED)
find_package(HeedPCRE2 MODULE REQUIRED)
