// Goroutines and channels, for the experiment `channels`.
//
//	PROGRAM version              {"runtime":..,"version":..}
//	PROGRAM KIND SIZE P SEED     {"runtime":..,"seconds":..,"answer":..}
//	PROGRAM idle N P SEED        {"runtime":..,"bytes":..,"future":0,"answer":..}
//
// It mirrors lab/src/experiments/channels/networks.rs, where the words are explained.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	streamCapacity = 64
	ringCapacity   = 8
	fan            = 100
)

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(2)
}

// How many messages go through before time is taken.
func warmUp(messages uint64) uint64 {
	return min(max(messages/10, 1), 10_000)
}

// What goroutines note when they are done: sums, and when the first of them began and the last one ended.
type ledger struct {
	lock         sync.Mutex
	sum          uint64
	begun, ended time.Time
}

func (l *ledger) begins(at time.Time) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.begun.IsZero() || at.Before(l.begun) {
		l.begun = at
	}
}

func (l *ledger) ends(at time.Time, sum uint64) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.sum += sum
	if l.ended.IsZero() || at.After(l.ended) {
		l.ended = at
	}
}

func (l *ledger) say() {
	fmt.Printf("{\"runtime\":\"go\",\"seconds\":%.9f,\"answer\":%d}\n", l.ended.Sub(l.begun).Seconds(), l.sum)
}

// The sum of what comes after the first so many, each number times its position; says when those have come.
func sumOf(input <-chan uint64, skipped uint64, skippedAll func()) uint64 {
	for range skipped {
		<-input
	}
	skippedAll()
	var sum, position uint64
	for number := range input {
		position++
		sum += number * position
	}
	return sum
}

func stream(processes, numbers, seed uint64) {
	var notes ledger
	first, warm := make(chan uint64, streamCapacity), make(chan struct{})
	go func() {
		for number := range warmUp(numbers) {
			first <- number
		}
		<-warm
		notes.begins(time.Now())
		for number := range numbers {
			first <- seed + number
		}
		close(first)
	}()
	next := first
	for range processes - 2 {
		input, output := next, make(chan uint64, streamCapacity)
		go func() {
			for number := range input {
				output <- number + 1
			}
			close(output)
		}()
		next = output
	}
	last := make(chan struct{})
	go func() {
		sum := sumOf(next, warmUp(numbers), func() { close(warm) })
		notes.ends(time.Now(), sum)
		close(last)
	}()
	<-last
	notes.say()
}

func ring(processes, turns, seed uint64) {
	var notes ledger
	first := make(chan uint64, ringCapacity)
	next := first
	for own := uint64(1); own < processes; own++ {
		input, output := next, make(chan uint64, ringCapacity)
		go func() {
			for token := range input {
				output <- token + own
			}
			close(output)
		}()
		next = output
	}
	last := make(chan struct{})
	go func() {
		first <- seed
		token := <-next
		notes.begins(time.Now())
		for range turns {
			first <- token
			token = <-next
		}
		notes.ends(time.Now(), token)
		close(first)
		close(last)
	}()
	<-last
	notes.say()
}

func fanOut(numbers, seed uint64) {
	var notes ledger
	var all, warm sync.WaitGroup
	warm.Add(fan)
	var outputs [fan]chan uint64
	for to := range outputs {
		input := make(chan uint64, streamCapacity)
		outputs[to] = input
		all.Add(1)
		go func() {
			defer all.Done()
			sum := sumOf(input, warmUp(numbers), warm.Done)
			notes.ends(time.Now(), sum)
		}()
	}
	go func() {
		for range warmUp(numbers) {
			for _, output := range outputs {
				output <- 0
			}
		}
		warm.Wait()
		notes.begins(time.Now())
		number := seed
		for range numbers {
			for _, output := range outputs {
				output <- number
				number++
			}
		}
		for _, output := range outputs {
			close(output)
		}
	}()
	all.Wait()
	notes.say()
}

func fanIn(numbers, seed uint64) {
	var notes ledger
	var inputs [fan]chan uint64
	warm := make(chan struct{})
	for from := range inputs {
		output := make(chan uint64, streamCapacity)
		inputs[from] = output
		first := seed + uint64(from)*numbers
		go func() {
			for range warmUp(numbers) {
				output <- 0
			}
			<-warm
			notes.begins(time.Now())
			for number := range numbers {
				output <- first + number
			}
		}()
	}
	last := make(chan struct{})
	go func() {
		for range warmUp(numbers) {
			for _, input := range inputs {
				<-input
			}
		}
		close(warm)
		var sum, position uint64
		for range numbers {
			for _, input := range inputs {
				position++
				sum += <-input * position
			}
		}
		notes.ends(time.Now(), sum)
		close(last)
	}()
	<-last
	notes.say()
}

// The resident memory, in bytes.
func resident() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		fail(err.Error())
	}
	words := strings.Fields(string(text))
	if len(words) < 2 {
		fail("/proc/self/statm says too little")
	}
	pages, err := strconv.ParseUint(words[1], 10, 64)
	if err != nil {
		fail(err.Error())
	}
	return pages * uint64(os.Getpagesize())
}

// A row of goroutines, each of which waits for the one before it: the memory while all wait, and how often a token was passed on.
func chain(number uint64) (memory, passed uint64) {
	var waiting atomic.Uint64
	allWait := make(chan struct{})
	first := make(chan uint64, 1)
	next := first
	for range number {
		input, output := next, make(chan uint64, 1)
		go func() {
			if waiting.Add(1) == number {
				close(allWait)
			}
			output <- <-input + 1
		}()
		next = output
	}
	<-allWait
	memory = resident()
	first <- 0
	return memory, <-next
}

func idle(number uint64) {
	chain(min(number, 100))
	runtime.GC()
	before := resident()
	after, passed := chain(number)
	grown := uint64(0)
	if after > before {
		grown = after - before
	}
	fmt.Printf("{\"runtime\":\"go\",\"bytes\":%d,\"future\":0,\"answer\":%d}\n", grown, passed)
}

func count(text string) uint64 {
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		fail("'" + text + "' is not a number")
	}
	return number
}

func main() {
	arguments := os.Args[1:]
	if len(arguments) == 1 && arguments[0] == "version" {
		fmt.Printf("{\"runtime\":\"go\",\"version\":%q}\n", strings.TrimPrefix(runtime.Version(), "go"))
		return
	}
	if len(arguments) != 4 {
		fail("KIND SIZE P SEED")
	}
	kind, size, seed := arguments[0], arguments[1], count(arguments[3])
	workers := count(arguments[2])
	if workers < 1 || workers > 1024 {
		fail("there can be 1 to 1024 workers")
	}
	runtime.GOMAXPROCS(int(workers))
	both := func() (uint64, uint64) {
		processes, number, found := strings.Cut(size, "x")
		if !found {
			fail("the size of " + kind + " is PROCESSESxN")
		}
		return count(processes), count(number)
	}
	switch kind {
	case "stream":
		stream(2, count(size), seed)
	case "pipeline":
		processes, number := both()
		if processes < 2 {
			fail("a pipeline has two processes at least")
		}
		stream(processes, number, seed)
	case "ring":
		processes, turns := both()
		ring(processes, turns, seed)
	case "fan-out":
		fanOut(count(size), seed)
	case "fan-in":
		fanIn(count(size), seed)
	case "idle":
		idle(count(size))
	default:
		fail("unknown kind '" + kind + "'")
	}
}
