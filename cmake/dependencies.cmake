# What the library itself links. All of it is private: no public header names a third party.
find_package(HeedOpenBLAS MODULE REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(nlohmann_json REQUIRED)
find_package(HeedPCRE2 MODULE REQUIRED)

# Training on several machines. AUTO: where MPI is found.
set(HEED_MPI AUTO CACHE STRING "Train on several machines through MPI: AUTO, ON or OFF")
set(heed_has_mpi OFF)
set(MPI_CXX_SKIP_MPICXX TRUE)
if(HEED_MPI STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS CXX)
  set(heed_has_mpi ${MPI_CXX_FOUND})
elseif(HEED_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
  set(heed_has_mpi ON)
endif()
