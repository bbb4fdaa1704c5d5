package address

import "testing"

func TestParse(t *testing.T) {
	for url, want := range map[string]Target{
		"zap://127.0.0.1:9/health":     {"tcp", "127.0.0.1:9", "/health", "127.0.0.1:9"},
		"zap://[::1]:9":                {"tcp", "[::1]:9", "/", "[::1]:9"},
		"zap+unix:/run/a.sock:/echo?x": {"unix", "/run/a.sock", "/echo?x", "localhost"},
		"zap+unix:/run/a.sock":         {"unix", "/run/a.sock", "/", "localhost"},
	} {
		if got, err := Parse(url); err != nil || got != want {
			t.Errorf("%s: %+v, %v", url, got, err)
		}
	}
	for _, url := range []string{"", "http://a:1/", "zap://", "zap:///x", "zap+unix:", "127.0.0.1:9"} {
		if got, err := Parse(url); err == nil {
			t.Errorf("%q was taken as %+v", url, got)
		}
	}
}
