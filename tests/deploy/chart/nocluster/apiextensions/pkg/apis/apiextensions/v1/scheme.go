// Package v1 adds no kinds.
package v1

// AddToScheme does nothing.
func AddToScheme(any) error { return nil }
