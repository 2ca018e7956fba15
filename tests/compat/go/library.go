// A library of Go for a JVM (-buildmode=c-shared): goroutines, timers, a panic by a bad address, stacks
// that grow, collections, a server. Called from many Java threads at once (GoCalls.java).
package main

import "C"

import (
	"net"
	"runtime"
	"sync"
	"time"
)

//export GoSum
func GoSum(n C.long) C.long {
	var wg sync.WaitGroup
	var mutex sync.Mutex
	var total int64
	for i := int64(0); i < 8; i++ {
		wg.Add(1)
		go func(i int64) {
			defer wg.Done()
			var sum int64
			for k := int64(0); k < int64(n); k++ {
				sum += k ^ i
				if k%1000 == 0 {
					runtime.Gosched()
				}
			}
			mutex.Lock()
			total += sum
			mutex.Unlock()
		}(i)
	}
	wg.Wait()
	return C.long(total)
}

//export GoSleep
func GoSleep(us C.long) { time.Sleep(time.Duration(us) * time.Microsecond) }

func deep(n int) int {
	var a [64]int
	a[n%64] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + a[n%64]
}

//export GoDeep
func GoDeep(n C.long) C.long { return C.long(deep(int(n))) }

// 42: the signal came to Go's handler, which made a panic of it.
//
//export GoNil
func GoNil() (result C.long) {
	defer func() {
		if recover() != nil {
			result = 42
		}
	}()
	var p *int
	return C.long(*p)
}

//export GoCollect
func GoCollect() { runtime.GC() }

// A port on which what is sent comes back.
//
//export GoServe
func GoServe() C.long {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return -1
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				b := make([]byte, 4096)
				for {
					n, err := connection.Read(b)
					if err != nil {
						return
					}
					if _, err := connection.Write(b[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	return C.long(listener.Addr().(*net.TCPAddr).Port)
}

func main() {}
