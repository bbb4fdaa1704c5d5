// Says what the reference makes of frames: one "KIND HEX" on each line of standard input, KIND being request, response, head, data or
// end, and HEX the frame without its length prefix; one JSON object on each line of standard output. All bytes are in hex.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/zap-proto/http"
)

// maxLineBytes is above what a frame of a few MiB takes.
const maxLineBytes = 64 << 20

type pair [2]string

// made is what became of a frame: an error, or its fields.
type made struct {
	Error   string  `json:"error,omitempty"`
	Method  *string `json:"method,omitempty"`
	Target  *string `json:"target,omitempty"`
	Status  *int    `json:"status,omitempty"`
	Reason  *string `json:"reason,omitempty"`
	Proto   *string `json:"proto,omitempty"`
	Headers []pair  `json:"headers,omitempty"`
	Trailer []pair  `json:"trailer,omitempty"`
	Body    *string `json:"body,omitempty"`
}

func main() {
	log.SetFlags(0)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxLineBytes)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for number := 1; lines.Scan(); number++ {
		kind, digits, _ := strings.Cut(lines.Text(), " ")
		frame, err := hex.DecodeString(digits)
		if err != nil {
			log.Fatalf("line %d: %v", number, err)
		}
		result, err := decode(kind, frame)
		if err != nil {
			log.Fatalf("line %d: %v", number, err)
		}
		if err := encoder.Encode(result); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

func decode(kind string, frame []byte) (made, error) {
	switch kind {
	case "request":
		var request fasthttp.Request
		// Names as they were sent: what fasthttp makes of them by itself is not the wire's.
		request.Header.DisableNormalizing()
		if err := http.UnmarshalRequest(frame, &request); err != nil {
			return made{Error: err.Error()}, nil
		}
		return ofRequest(&request), nil
	case "response", "head":
		var response fasthttp.Response
		response.Header.DisableNormalizing()
		unmarshal := http.UnmarshalResponse
		if kind == "head" {
			unmarshal = http.UnmarshalResponseHead
		}
		if err := unmarshal(frame, &response); err != nil {
			return made{Error: err.Error()}, nil
		}
		return ofResponse(&response), nil
	case "data":
		chunk, err := http.DataChunkOf(frame)
		if err != nil {
			return made{Error: err.Error()}, nil
		}
		return made{Body: inHex(chunk)}, nil
	case "end":
		// The reference's client looks no further than at the type.
		kind, err := http.FrameTypeOf(frame)
		if err == nil && kind != http.FrameEnd {
			err = fmt.Errorf("http: frame type %#x, want %#x", kind, http.FrameEnd)
		}
		if err != nil {
			return made{Error: err.Error()}, nil
		}
		return made{}, nil
	}
	return made{}, fmt.Errorf("no frame kind %q: request, response, head, data or end", kind)
}

func ofRequest(request *fasthttp.Request) made {
	header := &request.Header
	result := made{
		Method: inHex(header.Method()),
		Target: inHex(header.RequestURI()),
		Proto:  inHex(header.Protocol()),
		Body:   inHex(request.Body()),
	}
	names := named(header.PeekTrailerKeys())
	for name, value := range header.All() {
		result.add(names, name, value)
	}
	return result
}

func ofResponse(response *fasthttp.Response) made {
	header := &response.Header
	status := response.StatusCode()
	result := made{
		Status: &status,
		Reason: inHex(header.StatusMessage()),
		Proto:  inHex(header.Protocol()),
		Body:   inHex(response.Body()),
	}
	names := named(header.PeekTrailerKeys())
	for name, value := range header.All() {
		result.add(names, name, value)
	}
	return result
}

// named is the set of names that were declared as a trailer, folded.
func named(keys [][]byte) map[string]bool {
	names := make(map[string]bool, len(keys))
	for _, key := range keys {
		names[strings.ToLower(string(key))] = true
	}
	return names
}

// add puts a field where the wire has it.
func (m *made) add(trailers map[string]bool, name, value []byte) {
	found := pair{*inHex(name), *inHex(value)}
	if trailers[strings.ToLower(string(name))] {
		m.Trailer = append(m.Trailer, found)
	} else {
		m.Headers = append(m.Headers, found)
	}
}

func inHex(bytes []byte) *string {
	text := hex.EncodeToString(bytes)
	return &text
}
