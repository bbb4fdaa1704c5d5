// A server with zapring's handlers on the reference implementation of the ZAP wire.
package main

import (
	"flag"
	"net"

	"github.com/zap-proto/http"

	"zapring/peers/go/answers"
	"zapring/peers/go/record"
	"zapring/peers/go/serve"
)

func main() {
	args := serve.Flags("zap://127.0.0.1:9653")
	flag.Parse()
	server := &http.Server{Handler: answers.Handler(record.Call)}
	serve.Run(args, "zap", func(listener net.Listener) error { return server.Serve(listener) })
}
