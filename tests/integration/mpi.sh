#!/bin/bash
# MPI: each rank has a profile of its own, and --by rank shows how the work is spread.
. "$(dirname "$0")/lib.sh"
: "${FBLE_PROF:?path of fble-prof}"
command -v mpirun mpicc >/dev/null || { skip "no mpirun and mpicc (openmpi-bin, libopenmpi-dev)"; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader

shares=()
begin "a file for each rank"
cat >"$dir/imbalance.c" <<'END'
#include <mpi.h>
#include <stdio.h>
static volatile unsigned long sum;
__attribute__((noinline)) void compute(int units) {
  for (long i = 0; i < units * 40000000l; ++i) sum += (unsigned long)i;
}
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  compute(1 + 3 * rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks\n", size);
  MPI_Finalize();
  return 0;
}
END
mpicc -O1 -g "$dir/imbalance.c" -o "$dir/imbalance" || fail "mpicc failed"
(cd "$dir" && timeout 60 mpirun --oversubscribe -n 2 "$FBLE_PROF" -o ranks.out ./imbalance >out 2>err) ||
  fail "mpirun ended with $?: $(tail -n 5 "$dir/err")"
check "the program ran" "$(cat "$dir/out")" = "2 ranks"
files=("$dir"/ranks.out*)
check "a file for each rank" "${#files[@]}" = 2
verified "${files[@]}"


ranks=$("$REPORT" --by rank --format csv "${files[@]}" 2>"$dir/err") || fail "$(cat "$dir/err")"
has_text 'mpi_rank=0' <<<"$ranks" || fail "no rank 0"
has_text 'mpi_rank=1' <<<"$ranks" || fail "no rank 1"
first=$(grep -v rank=0 <<<"$ranks" | grep -c 'rank=1')
check "one row for each rank" "$first" = 1
# A rank that waits spins, so CPU time alone shows no imbalance.
for file in "${files[@]}"; do
  rank=$("$REPORT" --summary "$file" | sed -n 's/.*mpi_rank=\([0-9]*\).*/\1/p')
  shares[rank]=$(share compute "$file")
done
awk -v a="${shares[0]}" -v b="${shares[1]}" 'BEGIN { exit !(b > a) }' ||
  fail "the share of compute is ${shares[0]} % in rank 0 and ${shares[1]} % in rank 1"
