// A closed-loop loader on the reference's client: N connections, each with a transport of its own, one request under way on each.
// It prints one JSON object on standard output.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/valyala/fasthttp"
	"github.com/zap-proto/http"

	"zapring/peers/go/address"
)

// Latencies of up to a minute with two digits: a worker's histogram then stays in its core's cache.
const (
	maxLatency = int64(time.Minute)
	digits     = 2
	// maxConnections keeps histograms and goroutines within memory.
	maxConnections = 100_000
)

// phase of the run, as the workers see it.
const (
	warming int32 = iota
	measuring
	over
)

type worker struct {
	transport  *http.Transport
	asked      *fasthttp.Request
	got        *fasthttp.Response
	latency    *hdrhistogram.Histogram
	ok, failed int64
	firstError error
}

// report is what is printed.
type report struct {
	Connections int     `json:"connections"`
	MaxProcs    int     `json:"max_procs"`
	ElapsedNs   int64   `json:"elapsed_ns"`
	OK          int64   `json:"ok"`
	Failed      int64   `json:"failed"`
	OKPerS      float64 `json:"ok_per_s"`
	P50Ns       int64   `json:"p50_ns"`
	P99Ns       int64   `json:"p99_ns"`
	MaxNs       int64   `json:"max_ns"`
	FirstError  string  `json:"first_error,omitempty"`
}

func main() {
	log.SetFlags(0)
	connections := flag.Int("c", 64, "connections")
	duration := flag.Duration("d", 10*time.Second, "how long to measure")
	warmup := flag.Duration("warmup", time.Second, "excluded start")
	maxProcs := flag.Int("maxprocs", 0, "GOMAXPROCS; 0 leaves it to Go")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: zap-load [flags] zap://HOST:PORT/PATH\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || *connections < 1 || *connections > maxConnections || *duration <= 0 || *warmup < 0 {
		flag.Usage()
		os.Exit(2)
	}
	target, err := address.Parse(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	if *maxProcs > 0 {
		runtime.GOMAXPROCS(*maxProcs)
	}
	result, err := run(target, *connections, *warmup, *duration)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}

// run connects everybody first, so that no connect is measured.
func run(target address.Target, connections int, warmup, duration time.Duration) (report, error) {
	workers := make([]*worker, connections)
	for i := range workers {
		workers[i] = newWorker(target)
		if err := workers[i].exchange(); err != nil {
			return report{}, fmt.Errorf("connection %d of %d: %w", i+1, connections, err)
		}
	}
	var phase atomic.Int32
	var all sync.WaitGroup
	for _, worker := range workers {
		all.Go(func() { worker.loop(&phase) })
	}
	time.Sleep(warmup)
	begun := time.Now()
	phase.Store(measuring)
	time.Sleep(duration)
	phase.Store(over)
	elapsed := time.Since(begun)
	all.Wait()
	return summed(workers, elapsed), nil
}

func newWorker(target address.Target) *worker {
	asked := fasthttp.AcquireRequest()
	asked.SetRequestURI(target.Path)
	asked.Header.SetHost(target.Host)
	return &worker{
		transport: http.Dial(target.Network, target.Address),
		asked:     asked,
		got:       fasthttp.AcquireResponse(),
		latency:   hdrhistogram.New(1, maxLatency, digits),
	}
}

// exchange makes one request and looks at its answer.
func (w *worker) exchange() error {
	if err := w.transport.Do(w.asked, w.got); err != nil {
		return err
	}
	if status := w.got.StatusCode(); status != fasthttp.StatusOK {
		return fmt.Errorf("status %d", status)
	}
	return nil
}

// loop counts what was answered between the two edges of the measured part.
func (w *worker) loop(phase *atomic.Int32) {
	for {
		begun := time.Now()
		err := w.exchange()
		took := time.Since(begun)
		switch phase.Load() {
		case warming:
		case measuring:
			w.count(err, took)
		default:
			return
		}
	}
}

func (w *worker) count(err error, took time.Duration) {
	if err == nil {
		w.ok++
		_ = w.latency.RecordValue(min(int64(took), maxLatency))
		return
	}
	w.failed++
	if w.firstError == nil {
		w.firstError = err
	}
}

func summed(workers []*worker, elapsed time.Duration) report {
	latency := hdrhistogram.New(1, maxLatency, digits)
	result := report{Connections: len(workers), MaxProcs: runtime.GOMAXPROCS(0), ElapsedNs: int64(elapsed)}
	for _, worker := range workers {
		result.OK += worker.ok
		result.Failed += worker.failed
		latency.Merge(worker.latency)
		if worker.firstError != nil && result.FirstError == "" {
			result.FirstError = worker.firstError.Error()
		}
	}
	result.OKPerS = float64(result.OK) / elapsed.Seconds()
	result.P50Ns = latency.ValueAtQuantile(50)
	result.P99Ns = latency.ValueAtQuantile(99)
	result.MaxNs = latency.Max()
	return result
}
