// A library for tests/bats/go.bats: uses CPU in goroutines, whose stacks have no room for a signal handler.
package main

/*
#include <stdlib.h>
static int in_c(void) { return getenv("HOME") != NULL; }
*/
import "C"

import (
	"runtime"
	"time"
)

func deep(calls int, end time.Time) int {
	if calls == 0 {
		sum := 0
		for time.Now().Before(end) {
			for i := 0; i < 1000; i++ {
				sum += i * i
			}
		}
		return sum
	}
	return deep(calls-1, end) + 1
}

//export go_here
func go_here(ms C.int) C.int {
	return C.int(deep(5, time.Now().Add(time.Duration(ms)*time.Millisecond)))
}

// Young goroutines, for the stacks of which Go takes the least, and calls from them to C.
//
//export go_routines
func go_routines(ms C.int) C.int {
	end := time.Now().Add(time.Duration(ms) * time.Millisecond)
	done := make(chan int)
	n := 0
	for time.Now().Before(end) {
		for i := 0; i < 4; i++ {
			go func() { done <- deep(3, time.Now().Add(time.Millisecond)) + int(C.in_c()) }()
		}
		for i := 0; i < 4; i++ {
			n += <-done & 1
		}
	}
	runtime.GC()
	return C.int(n)
}

// Go's own profiler: timers and SIGPROF of its own.
//
//export go_profiles
func go_profiles(hz C.int) {
	runtime.SetCPUProfileRate(int(hz))
}

//export go_panics
func go_panics() {
	panic("on purpose")
}

//export go_reads_nil
func go_reads_nil() C.int {
	var nothing *C.int
	return *nothing
}

func main() {}
