// Package v1beta1 adds no kinds.
package v1beta1

// AddToScheme does nothing.
func AddToScheme(any) error { return nil }
