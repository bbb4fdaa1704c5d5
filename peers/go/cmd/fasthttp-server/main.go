// A server with zapring's handlers on raw fasthttp.
package main

import (
	"flag"
	"log"
	"net"

	"github.com/valyala/fasthttp"

	"zapring/peers/go/answers"
	"zapring/peers/go/serve"
	"zapring/peers/go/twin"
)

func main() {
	args := serve.Flags("http://127.0.0.1:8080")
	library := flag.String("json", "std", "JSON library of /rpc: std, goccy or sonic")
	full := flag.Bool("server-and-date", false, "answer with Server and Date, as fasthttp does by itself; without, answers have zapring's bytes")
	flag.Parse()
	call, err := twin.Call(*library)
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{
		Handler:               answers.Handler(call),
		Name:                  "fasthttp",
		NoDefaultServerHeader: !*full,
		NoDefaultDate:         !*full,
		MaxRequestBodySize:    64 << 20,
	}
	if !*full {
		server.Name = ""
	}
	serve.Run(args, "http", func(listener net.Listener) error { return server.Serve(listener) })
}
