// Package scheme has no kinds: .Capabilities.APIVersions of a chart is empty.
package scheme

import "k8s.io/apimachinery/pkg/runtime"

// Scheme is empty.
var Scheme = runtime.NewScheme()
