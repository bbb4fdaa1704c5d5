// Package record answers POST /rpc on the zap wire: a typed record in and out, with the reference's own runtime.
package record

import (
	"github.com/valyala/fasthttp"
	zap "github.com/zap-proto/go"

	"zapring/peers/go/answers"
)

// Fields of both records; a text or bytes field is a slot of 8 bytes.
const (
	callID, callBlock, callMethod, callAccount    = 0, 8, 16, 24
	replyID, replyBalance, replyNonce, replyBlock = 0, 8, 16, 24
	sectionBytes                                  = 32
	replyBytes                                    = 128
	mediaType                                     = "application/zap"
)

var blockHash = []byte{
	0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10,
	0x0f, 0x1e, 0x2d, 0x3c, 0x4b, 0x5a, 0x69, 0x78, 0x87, 0x96, 0xa5, 0xb4, 0xc3, 0xd2, 0xe1, 0xf0,
}

// Call answers the record in a request's body.
func Call(ctx *fasthttp.RequestCtx) {
	message, err := zap.Parse(ctx.PostBody())
	if err != nil {
		answers.Refuse(ctx, "malformed rpc record: "+err.Error())
		return
	}
	asked := message.Root()
	account := asked.Bytes(callAccount)
	var first byte
	if len(account) > 0 {
		first = account[0]
	}
	builder := zap.NewBuilder(replyBytes)
	reply := builder.StartObject(sectionBytes)
	reply.SetUint64(replyID, asked.Uint64(callID))
	reply.SetUint64(replyBalance, answers.Balance(asked.Uint64(callBlock), len(asked.Bytes(callMethod)), len(account), first))
	reply.SetUint64(replyNonce, answers.Nonce)
	reply.SetBytes(replyBlock, blockHash)
	reply.FinishAsRoot()
	ctx.SetContentType(mediaType)
	ctx.SetBody(builder.Finish())
}
