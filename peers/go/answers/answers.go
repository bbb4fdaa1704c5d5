// Package answers holds the handlers that every server here has: what zapring's own server answers, on fasthttp's request context.
// It must not know which wire the request came on; what differs by wire is given to it.
package answers

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// Bounds of what a path may ask for. They are zapring's.
const (
	maxBodyBytes  = 1 << 30
	maxChunks     = 1 << 20
	maxChunkBytes = 16 << 20
)

// What every rpc answers, as zapring's codec defines it.
const (
	balanceBase = 1_000_000_000_000_000_000
	Nonce       = 42
)

const (
	textPlain = "text/plain"
	octets    = "application/octet-stream"
	// JSON is the media type of the JSON twin of an rpc.
	JSON = "application/json"
)

// alphabet is what /bytes and /stream send, over and over.
const alphabet = "abcdefghijklmnopqrstuvwxyz"

// patternBytes is the length of the piece of it that is kept.
const patternBytes = 1 << 20

var pattern = bytes.Repeat([]byte(alphabet), patternBytes/len(alphabet)+1)[:patternBytes]

// A Call answers the body of POST /rpc.
type Call func(ctx *fasthttp.RequestCtx)

// Handler is zapring's routes; rpc answers POST /rpc.
func Handler(rpc Call) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		path := string(ctx.Path())
		switch {
		case path == "/echo" || path == "/rpc":
			if !ctx.IsPost() {
				notAllowed(ctx, "POST")
			} else if path == "/echo" {
				echo(ctx)
			} else {
				rpc(ctx)
			}
		case !isRead(path):
			text(ctx, fasthttp.StatusNotFound, "not found")
		case !ctx.IsGet() && !ctx.IsHead():
			notAllowed(ctx, "GET, HEAD")
		default:
			read(ctx, path)
		}
	}
}

func isRead(path string) bool {
	switch path {
	case "/health", "/plaintext", "/json", "/trailer":
		return true
	}
	return strings.HasPrefix(path, "/bytes/") || strings.HasPrefix(path, "/stream/")
}

func read(ctx *fasthttp.RequestCtx, path string) {
	switch {
	case path == "/health":
		text(ctx, fasthttp.StatusOK, "ok")
	case path == "/plaintext":
		text(ctx, fasthttp.StatusOK, "Hello, World!")
	case path == "/json":
		ctx.SetContentType(JSON)
		ctx.SetBodyString(`{"message":"Hello, World!"}`)
	case path == "/trailer":
		trailer(ctx)
	case strings.HasPrefix(path, "/bytes/"):
		counted(ctx, path[len("/bytes/"):])
	default:
		stream(ctx, path[len("/stream/"):])
	}
}

func text(ctx *fasthttp.RequestCtx, status int, body string) {
	ctx.SetStatusCode(status)
	ctx.SetContentType(textPlain)
	ctx.SetBodyString(body)
}

// Balance folds every field of a call but its id into one number, so that a server which did not decode them is found out.
func Balance(block uint64, methodBytes, accountBytes int, firstAccountByte byte) uint64 {
	return balanceBase ^ block ^ uint64(methodBytes) ^ uint64(accountBytes) ^ uint64(firstAccountByte)
}

// Refuse answers 400 with the reason.
func Refuse(ctx *fasthttp.RequestCtx, reason string) {
	text(ctx, fasthttp.StatusBadRequest, reason)
}

func notAllowed(ctx *fasthttp.RequestCtx, allow string) {
	text(ctx, fasthttp.StatusMethodNotAllowed, "method not allowed")
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allow)
}

// echo gives back the body, its Content-Type and every X-* header.
func echo(ctx *fasthttp.RequestCtx) {
	ctx.SetContentTypeBytes(ctx.Request.Header.ContentType())
	for name, value := range ctx.Request.Header.All() {
		if len(name) > 2 && name[0]|0x20 == 'x' && name[1] == '-' {
			ctx.Response.Header.AddBytesKV(name, value)
		}
	}
	ctx.SetBody(ctx.PostBody())
}

// trailer answers with a field behind the body.
func trailer(ctx *fasthttp.RequestCtx) {
	text(ctx, fasthttp.StatusOK, "ok")
	if err := ctx.Response.Header.AddTrailer("X-Checksum"); err != nil {
		panic(err) // The name is a constant that fasthttp allows.
	}
	ctx.Response.Header.Set("X-Checksum", "abc123")
}

// number is plain decimal digits, at most limit; what is no number counts as one below zero.
func number(digits string, limit int) (n int, status int) {
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || n < 0:
		return 0, fasthttp.StatusBadRequest
	case n > limit:
		return 0, fasthttp.StatusRequestEntityTooLarge
	}
	return n, fasthttp.StatusOK
}

func counted(ctx *fasthttp.RequestCtx, digits string) {
	count, status := number(digits, maxBodyBytes)
	if status != fasthttp.StatusOK {
		text(ctx, status, "the number of bytes must be a decimal number from 0 to "+strconv.Itoa(maxBodyBytes))
		return
	}
	ctx.SetContentType(octets)
	for left := count; left > 0; left -= patternBytes {
		ctx.Response.AppendBody(pattern[:min(left, patternBytes)])
	}
}

func stream(ctx *fasthttp.RequestCtx, rest string) {
	first, second, _ := strings.Cut(rest, "/")
	chunks, status := number(first, maxChunks)
	if status != fasthttp.StatusOK {
		text(ctx, status, "the number of chunks must be a decimal number from 0 to "+strconv.Itoa(maxChunks))
		return
	}
	size, status := number(second, maxChunkBytes)
	if status != fasthttp.StatusOK {
		text(ctx, status, "the bytes of a chunk must be a decimal number from 0 to "+strconv.Itoa(maxChunkBytes))
		return
	}
	ctx.SetContentType(octets)
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		for range chunks {
			for left := size; left > 0; left -= patternBytes {
				if _, err := w.Write(pattern[:min(left, patternBytes)]); err != nil {
					return // The peer has gone.
				}
			}
			if w.Flush() != nil {
				return
			}
		}
	})
}
