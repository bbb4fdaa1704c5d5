// The reference's client for tests: one request in JSON on each line of standard input, its answer in JSON on a line of standard
// output. All requests share one transport, hence its warm connection. Bodies are in hex.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/valyala/fasthttp"
	"github.com/zap-proto/http"

	"zapring/peers/go/address"
)

const (
	maxLineBytes  = 64 << 20
	maxChunkBytes = 64 << 20
)

type pair [2]string

type ask struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Headers []pair `json:"headers"`
	Trailer []pair `json:"trailer"`
	Body    string `json:"body"`
}

type answer struct {
	Error   string `json:"error,omitempty"`
	Status  int    `json:"status,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Headers []pair `json:"headers,omitempty"`
	Trailer []pair `json:"trailer,omitempty"`
	Body    string `json:"body"`
	// Chunks are the sizes in which a streamed body came; null for a body in one frame.
	Chunks []int `json:"chunks"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: zap-client zap://HOST:PORT <REQUESTS")
	}
	target, err := address.Parse(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	transport := http.Dial(target.Network, target.Address)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxLineBytes)
	encoder := json.NewEncoder(os.Stdout)
	for number := 1; lines.Scan(); number++ {
		var asked ask
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatalf("line %d: %v", number, err)
		}
		got, err := exchange(transport, target.Host, &asked)
		if err != nil {
			got = answer{Error: err.Error()}
		}
		if err := encoder.Encode(got); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

func exchange(transport *http.Transport, host string, asked *ask) (answer, error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.Header.SetMethod(asked.Method)
	request.SetRequestURI(asked.Path)
	request.Header.SetHost(host)
	for _, field := range asked.Headers {
		request.Header.Add(field[0], field[1])
	}
	for _, field := range asked.Trailer {
		if err := request.Header.AddTrailer(field[0]); err != nil {
			return answer{}, fmt.Errorf("trailer %s: %w", field[0], err)
		}
		request.Header.Add(field[0], field[1])
	}
	body, err := hex.DecodeString(asked.Body)
	if err != nil {
		return answer{}, fmt.Errorf("body: %w", err)
	}
	request.SetBody(body)
	if err := transport.Do(request, response); err != nil {
		return answer{}, err
	}
	return read(response)
}

func read(response *fasthttp.Response) (answer, error) {
	result := answer{Status: response.StatusCode(), Reason: string(response.Header.StatusMessage())}
	names := make(map[string]bool)
	for _, key := range response.Header.PeekTrailerKeys() {
		names[string(key)] = true
	}
	for name, value := range response.Header.All() {
		field := pair{string(name), string(value)}
		if names[field[0]] {
			result.Trailer = append(result.Trailer, field)
		} else {
			result.Headers = append(result.Headers, field)
		}
	}
	if !response.IsBodyStream() {
		result.Body = hex.EncodeToString(response.Body())
		return result, nil
	}
	chunks, body, err := readChunks(response.BodyStream())
	if err != nil {
		return answer{}, fmt.Errorf("stream: %w", err)
	}
	result.Chunks, result.Body = chunks, hex.EncodeToString(body)
	return result, response.CloseBodyStream()
}

// readChunks reads a stream to its end. A read never spans two data frames, so each is a chunk.
func readChunks(stream io.Reader) ([]int, []byte, error) {
	chunks, body := []int{}, []byte{}
	buffer := make([]byte, maxChunkBytes)
	for {
		count, err := stream.Read(buffer)
		if errors.Is(err, io.EOF) {
			return chunks, body, nil
		}
		if err != nil {
			return nil, nil, err
		}
		chunks = append(chunks, count)
		body = append(body, buffer[:count]...)
	}
}
