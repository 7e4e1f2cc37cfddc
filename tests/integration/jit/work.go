// Goroutines that make garbage, so that the runtime works for them on its own stacks, and code in
// assembly that uses the frame pointer for other values.
package main

import (
	"crypto/sha256"
	"fmt"
	"sync"
)

type tree struct{ left, right *tree }

func build(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{build(depth - 1), build(depth - 1)}
}

func (t *tree) count() int {
	if t.left == nil {
		return 1
	}
	return 1 + t.left.count() + t.right.count()
}

func digest(rounds int) byte {
	sum := sha256.Sum256(nil)
	block := make([]byte, 4096)
	for i := 0; i < rounds; i++ {
		copy(block, sum[:])
		sum = sha256.Sum256(block)
	}
	return sum[0]
}

func main() {
	var group sync.WaitGroup
	sums := make([]int, 4)
	for i := range sums {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for n := 0; n < 40; n++ {
				sums[i] += build(14).count()
			}
			sums[i] += int(digest(5000))
		}(i)
	}
	group.Wait()
	fmt.Println(sums)
}
