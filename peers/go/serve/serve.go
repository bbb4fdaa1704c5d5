// Package serve is what every server here does around its handler: flags, the listener, the lines that say where it serves, the end.
// It must not know what is served.
package serve

import (
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
)

// Args are the flags that all servers have.
type Args struct {
	listen   string
	maxProcs int
}

// Flags declares them; read them after flag.Parse. listen is the default address.
func Flags(listen string) *Args {
	args := &Args{}
	flag.StringVar(&args.listen, "listen", listen, "where to listen; port 0 takes a free one")
	flag.IntVar(&args.maxProcs, "maxprocs", 0, "GOMAXPROCS; 0 leaves it to Go, which counts the CPUs that the process may use")
	return args
}

// Run listens, says so in the manner of zapring's server (a line "listening URL", then "ready"), and serves until the listener fails
// or SIGINT or SIGTERM asks for the end, which exits 0. Addresses have this scheme.
func Run(args *Args, scheme string, serve func(net.Listener) error) {
	log.SetFlags(0)
	if args.maxProcs > 0 {
		runtime.GOMAXPROCS(args.maxProcs)
	}
	listener, url, err := listen(args.listen, scheme)
	if err != nil {
		log.Fatalf("cannot listen on %s: %v", args.listen, err)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	var ending atomic.Bool
	go func() {
		<-ended
		ending.Store(true)
		_ = listener.Close() // Takes the file of a unix socket away.
		os.Exit(0)
	}()
	fmt.Printf("listening %s\nready\n", url)
	err = serve(listener)
	if !ending.Load() {
		log.Fatalf("serving %s ended: %v", url, err)
	}
	select {} // The other goroutine exits.
}

// listen opens SCHEME://HOST:PORT or SCHEME+unix:/PATH and names what it got.
func listen(address, scheme string) (net.Listener, string, error) {
	if path, found := strings.CutPrefix(address, scheme+"+unix:"); found {
		listener, err := net.Listen("unix", path)
		return listener, address, err
	}
	host, found := strings.CutPrefix(address, scheme+"://")
	if !found {
		return nil, "", fmt.Errorf("this server takes %s://HOST:PORT or %s+unix:/PATH", scheme, scheme)
	}
	listener, err := net.Listen("tcp", host)
	if err != nil {
		return nil, "", err
	}
	return listener, scheme + "://" + listener.Addr().String(), nil
}
