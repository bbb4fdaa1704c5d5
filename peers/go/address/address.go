// Package address reads URLs of the zap wire, as zapring writes them.
package address

import (
	"fmt"
	"strings"
)

// A Target is where to connect and what to ask for there.
type Target struct {
	Network string // tcp or unix, as net.Dial takes it
	Address string // HOST:PORT, or the path of a socket
	Path    string // never empty
	Host    string // for the Host header
}

// Parse reads zap://HOST:PORT/PATH, or zap+unix:/SOCKET:/PATH for a unix socket.
func Parse(url string) (Target, error) {
	if rest, found := strings.CutPrefix(url, "zap+unix:"); found {
		socket, path, _ := strings.Cut(rest, ":")
		if socket == "" {
			return Target{}, fmt.Errorf("%s names no socket, as in zap+unix:/run/x.sock:/health", url)
		}
		return Target{Network: "unix", Address: socket, Path: slashed(path), Host: "localhost"}, nil
	}
	rest, found := strings.CutPrefix(url, "zap://")
	if !found {
		return Target{}, fmt.Errorf("%s is neither zap://HOST:PORT/PATH nor zap+unix:/SOCKET:/PATH", url)
	}
	host, path, _ := strings.Cut(rest, "/")
	if host == "" {
		return Target{}, fmt.Errorf("%s names no host", url)
	}
	return Target{Network: "tcp", Address: host, Path: "/" + path, Host: host}, nil
}

func slashed(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return "/" + path
}
