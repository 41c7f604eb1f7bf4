// Renders a Helm chart with several sets of values, as `helm template` does, and validates what comes out as kubeconform does.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/yannh/kubeconform/pkg/validator"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// One set of values as standard input names it, in an object by name.
type request struct {
	Values  map[string]any `json:"values"`
	Release string         `json:"release"`
	Upgrade bool           `json:"upgrade"`
}

// What became of it. Error is the reason of a refusal, by values.schema.json or by a template.
type answer struct {
	Error string            `json:"error"`
	Files map[string]string `json:"files"`
	Wrong []string          `json:"wrong"`
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(chartPath, version string, schemas []string) error {
	requests := map[string]request{}
	if err := json.NewDecoder(os.Stdin).Decode(&requests); err != nil {
		return err
	}
	strict, err := validator.New(schemas, validator.Opts{KubernetesVersion: version, Strict: true})
	if err != nil {
		return err
	}
	answers := map[string]answer{}
	for name, each := range requests {
		// Rendering changes the values of a chart.
		loaded, err := loader.Load(chartPath)
		if err != nil {
			return err
		}
		answers[name] = answerTo(loaded, each, version, strict)
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func answerTo(loaded *chart.Chart, each request, version string, strict validator.Validator) answer {
	kube, err := chartutil.ParseKubeVersion(version)
	if err != nil {
		return answer{Error: err.Error()}
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *kube
	release := chartutil.ReleaseOptions{
		Name: each.Release, Namespace: "agents", Revision: 1, IsInstall: !each.Upgrade, IsUpgrade: each.Upgrade,
	}
	values, err := chartutil.ToRenderValues(loaded, each.Values, release, capabilities)
	if err != nil {
		return answer{Error: err.Error()}
	}
	rendered, err := engine.Engine{Strict: true}.Render(loaded, values)
	if err != nil {
		return answer{Error: err.Error()}
	}
	found := answer{Files: map[string]string{}, Wrong: []string{}}
	for file, text := range rendered {
		if strings.TrimSpace(text) == "" {
			continue
		}
		found.Files[path.Base(file)] = text
		if path.Ext(file) == ".yaml" {
			found.Wrong = append(found.Wrong, wrong(file, text, strict)...)
		}
	}
	return found
}

func wrong(file, text string, strict validator.Validator) []string {
	var found []string
	for _, result := range strict.Validate(file, io.NopCloser(strings.NewReader(text))) {
		if result.Status != validator.Valid && result.Status != validator.Empty {
			found = append(found, fmt.Sprintf("%s: %v", path.Base(file), result.Err))
		}
	}
	return found
}
