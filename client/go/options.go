package recollect

import (
	"crypto/tls"
	"os"
	"time"

	"google.golang.org/grpc"
)

// DefaultAddress is where a client looks for a server when neither New nor RECOLLECT_ADDRESS says where.
const DefaultAddress = "127.0.0.1:7443"

// DefaultTimeout is how long a call may take, its repetitions included, when nothing else is said.
const DefaultTimeout = 30 * time.Second

type options struct {
	token   string
	app     string
	userID  string
	timeout time.Duration
	tls     *tls.Config
	dial    []grpc.DialOption
}

// Option is how a client differs from the default.
type Option func(*options)

// WithToken sends "authorization: Bearer TOKEN" with every call. Default: the value of RECOLLECT_TOKEN; empty sends none.
func WithToken(token string) Option {
	return func(o *options) { o.token = token }
}

// WithApp completes sessions that are given by their id alone. Default: no app.
func WithApp(app string) Option {
	return func(o *options) { o.app = app }
}

// WithUser completes sessions that are given by their id alone. Default: none, so that the id must be the tenant's only one of
// that name, unless the token names the user.
func WithUser(userID string) Option {
	return func(o *options) { o.userID = userID }
}

// WithTimeout limits each call whose context bears no deadline, repetitions included; 0 is no limit. Default: DefaultTimeout.
func WithTimeout(timeout time.Duration) Option {
	return func(o *options) { o.timeout = timeout }
}

// WithTLS encrypts the connection; nil is TLS with the system's roots. Default: plaintext.
func WithTLS(config *tls.Config) Option {
	return func(o *options) {
		if config == nil {
			config = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		o.tls = config
	}
}

// WithDialOptions adds options of gRPC; they win over the client's own.
func WithDialOptions(dial ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, dial...) }
}

func newOptions(given []Option) options {
	chosen := options{token: os.Getenv("RECOLLECT_TOKEN"), timeout: DefaultTimeout}
	for _, option := range given {
		option(&chosen)
	}
	return chosen
}

// addressOrDefault is the address given, else that of RECOLLECT_ADDRESS, else the local server's.
func addressOrDefault(address string) string {
	if address == "" {
		address = os.Getenv("RECOLLECT_ADDRESS")
	}
	if address == "" {
		address = DefaultAddress
	}
	return address
}
