// Package rest has the name that Helm's engine requires of it.
package rest

// Config is what would name a cluster.
type Config struct{}
