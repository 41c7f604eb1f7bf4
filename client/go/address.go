package threadkeep

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

const defaultPort = "7443"

// target is the endpoint of a connection.
type target struct {
	address   string // in gRPC's syntax
	encrypted bool   // the scheme is https
	local     bool   // traffic stays on this machine
}

// parseTarget parses "host:port", "host", "https://host:port" or "http://host:port". Names for gRPC's resolvers pass through.
func parseTarget(address string) (target, error) {
	scheme, rest, hasScheme := strings.Cut(address, "://")
	switch {
	case hasScheme && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http")):
		host, err := hostPort(strings.TrimSuffix(rest, "/"))
		return target{host, strings.EqualFold(scheme, "https"), isLoopback(host)}, err
	case hasScheme || strings.HasPrefix(address, "unix:") || strings.HasPrefix(address, "unix-abstract:"):
		local := strings.HasPrefix(address, "unix") || isLoopback(address[strings.LastIndexByte(address, '/')+1:])
		return target{address, false, local}, nil
	}
	host, err := hostPort(address)
	return target{host, false, isLoopback(host)}, err
}

// hostPort returns the address with a port.
func hostPort(address string) (string, error) {
	if ip := net.ParseIP(address); ip != nil && strings.Contains(address, ":") {
		address = "[" + address + "]"
	}
	parsed, err := url.Parse("//" + address)
	if err != nil {
		return "", errors.New(`it must be "host:port" or "https://host:port"`)
	}
	if parsed.Hostname() == "" || parsed.Host != address {
		return "", errors.New(`it must be "host:port" or "https://host:port", without a path`)
	}
	port := parsed.Port()
	if port == "" {
		port = defaultPort
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return "", fmt.Errorf("its port must be from 1 to 65535, not %s", port)
	}
	return net.JoinHostPort(parsed.Hostname(), port), nil
}

// isLoopback reports whether a "host:port" is this machine.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return ip.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}
