// Package twin answers POST /rpc on http: the JSON twin of a typed record, with any of three JSON libraries.
package twin

import (
	"encoding/json"
	"fmt"

	"github.com/bytedance/sonic"
	goccy "github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"zapring/peers/go/answers"
)

// blockHash is the hash of each answer.
const blockHash = "0x0123456789abcdeffedcba98765432100f1e2d3c4b5a69788796a5b4c3d2e1f0"

type call struct {
	Method  string `json:"method"`
	Account string `json:"account"`
	Block   uint64 `json:"block"`
	ID      uint64 `json:"id"`
}

type reply struct {
	ID        uint64 `json:"id"`
	Balance   uint64 `json:"balance"`
	Nonce     uint64 `json:"nonce"`
	BlockHash string `json:"blockHash"`
}

// A codec is one of Go's JSON libraries.
type codec struct {
	decode func([]byte, any) error
	encode func(any) ([]byte, error)
}

var codecs = map[string]codec{
	"std":   {json.Unmarshal, json.Marshal},
	"goccy": {goccy.Unmarshal, goccy.Marshal},
	"sonic": {sonic.Unmarshal, sonic.Marshal},
}

// Call answers the JSON twin of an rpc with the library of that name: std, goccy or sonic.
func Call(name string) (answers.Call, error) {
	codec, known := codecs[name]
	if !known {
		return nil, fmt.Errorf("no JSON library %q here: std, goccy or sonic", name)
	}
	return func(ctx *fasthttp.RequestCtx) {
		var asked call
		if err := codec.decode(ctx.PostBody(), &asked); err != nil {
			answers.Refuse(ctx, "malformed rpc call: "+err.Error())
			return
		}
		var first byte
		if asked.Account != "" {
			first = asked.Account[0]
		}
		balance := answers.Balance(asked.Block, len(asked.Method), len(asked.Account), first)
		body, err := codec.encode(reply{ID: asked.ID, Balance: balance, Nonce: answers.Nonce, BlockHash: blockHash})
		if err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		ctx.SetContentType(answers.JSON)
		ctx.SetBody(body)
	}, nil
}
