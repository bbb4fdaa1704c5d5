module zapring/peers/go

go 1.26

require (
	github.com/HdrHistogram/hdrhistogram-go v1.1.2
	github.com/bytedance/sonic v1.15.5
	github.com/goccy/go-json v0.10.6
	github.com/valyala/fasthttp v1.70.0
	github.com/zap-proto/go v1.1.0
	github.com/zap-proto/http v0.3.9
)

require (
	github.com/andybalholm/brotli v1.2.1 // indirect
	github.com/bytedance/gopkg v0.1.3 // indirect
	github.com/bytedance/sonic/loader v0.5.3 // indirect
	github.com/cloudwego/base64x v0.1.6 // indirect
	github.com/klauspost/compress v1.18.5 // indirect
	github.com/klauspost/cpuid/v2 v2.2.9 // indirect
	github.com/twitchyliquid64/golang-asm v0.15.1 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	golang.org/x/arch v0.0.0-20210923205945-b76863e36670 // indirect
	golang.org/x/sys v0.41.0 // indirect
)
