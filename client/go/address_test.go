package threadkeep

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
)

func TestParseTargetAcceptsEveryForm(t *testing.T) {
	for given, want := range map[string]target{
		"127.0.0.1:7443":                 {"127.0.0.1:7443", false, true},
		"localhost":                      {"localhost:7443", false, true},
		"memory.example":                 {"memory.example:7443", false, false},
		"http://memory.example:1/":       {"memory.example:1", false, false},
		"https://memory.example":         {"memory.example:7443", true, false},
		"HTTPS://memory.example:443":     {"memory.example:443", true, false},
		"::1":                            {"[::1]:7443", false, true},
		"[2001:db8::1]:5":                {"[2001:db8::1]:5", false, false},
		"dns:///memory.example:7443":     {"dns:///memory.example:7443", false, false},
		"passthrough:///localhost:7443":  {"passthrough:///localhost:7443", false, true},
		"unix:/run/threadkeep.sock":      {"unix:/run/threadkeep.sock", false, true},
		"unix:///run/threadkeep.sock":    {"unix:///run/threadkeep.sock", false, true},
		"dns://10.0.0.1/localhost:7443":  {"dns://10.0.0.1/localhost:7443", false, true},
		"https://127.0.0.1:7443":         {"127.0.0.1:7443", true, true},
		"http://threadkeep.localhost:80": {"threadkeep.localhost:80", false, true},
	} {
		if got, err := parseTarget(given); got != want || err != nil {
			t.Errorf("%s: %+v, %v", given, got, err)
		}
	}
}

func TestNewRejectsAnInvalidAddressWithTheValidForm(t *testing.T) {
	for given, words := range map[string]string{
		"two words":                 "host:port",
		"memory.example:grpc":       "host:port",
		"memory.example:0":          "from 1 to 65535",
		"memory.example:70000":      "from 1 to 65535",
		"https://memory.example/v1": "without a path",
		"https://":                  "without a path",
		"me@memory.example":         "host:port",
		":7443":                     "host:port",
	} {
		_, err := New(Config{Address: given})
		if err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), given) {
			t.Errorf("%s: %v", given, err)
		}
	}
}

func TestNewRejectsATokenOverPlaintextToAnotherMachine(t *testing.T) {
	t.Setenv("THREADKEEP_TOKEN", "from the environment")
	for _, allowed := range []Config{
		{Address: "127.0.0.1:1"}, {Address: "https://memory.example"}, {Address: "memory.example", TLS: &tls.Config{}},
		{Address: "memory.example", AllowPlaintextToken: true}, {Address: "unix:/run/threadkeep.sock"},
	} {
		client, err := New(allowed)
		if err != nil {
			t.Errorf("%s: %v", allowed.Address, err)
			continue
		}
		_ = client.Close()
	}
	for _, refused := range []string{"memory.example:7443", "http://memory.example", "dns:///memory.example:7443"} {
		_, err := New(Config{Address: refused})
		if err == nil || !strings.Contains(err.Error(), "AllowPlaintextToken") || strings.Contains(err.Error(), "environment") {
			t.Errorf("%s: %v", refused, err)
		}
	}
	t.Setenv("THREADKEEP_TOKEN", "")
	if client, err := New(Config{Address: "memory.example"}); err != nil {
		t.Error("without a token:", err)
	} else {
		_ = client.Close()
	}
}

func TestHTTPSAddressTurnsTLSOn(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Setenv("THREADKEEP_ADDRESS", server.URL)
	trusting := &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	for _, each := range []struct {
		options Config
		words   string
	}{{Config{}, "certificate"}, {Config{TLS: trusting}, "404"}} {
		client, err := New(each.options)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Session("s1").GetContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), each.words) {
			t.Errorf("%s: %v", each.words, err)
		}
		_ = client.Close()
	}
}

func TestErrorReportsTheServersHTTPPort(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, err := connected(t, server.URL).Session("s1").GetContext(t.Context())
	var e *Error
	if !errors.As(err, &e) || e.Code != codes.Unavailable || !strings.Contains(e.Message, "HTTP port") || !strings.Contains(e.Message, "7443") {
		t.Error(err)
	}
}
