// Package dynamic returns no client.
package dynamic

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// ResourceInterface has the calls that Helm's function lookup makes.
type ResourceInterface interface {
	Get(context.Context, string, metav1.GetOptions, ...string) (*unstructured.Unstructured, error)
	List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error)
}

// NamespaceableResourceInterface is the same in any namespace.
type NamespaceableResourceInterface interface {
	ResourceInterface
	Namespace(string) ResourceInterface
}

// Interface is a client.
type Interface interface {
	Resource(schema.GroupVersionResource) NamespaceableResourceInterface
}

// NewForConfig fails: there is no cluster.
func NewForConfig(*rest.Config) (Interface, error) { return nil, errors.New("there is no cluster") }
