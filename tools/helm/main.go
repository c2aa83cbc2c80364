// Command helm renders a chart with Helm's own engine: `helm CHART RELEASE NAMESPACE < values.yaml`.
//
// It does what `helm template` does and nothing more: values are checked against the chart's
// schema, templates are rendered, the manifests are printed in the order of their installation.
// NOTES.txt is printed too, as a comment, so that a test can read it.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: helm CHART RELEASE NAMESPACE < values.yaml")
		os.Exit(2)
	}
	if err := render(os.Args[1], os.Args[2], os.Args[3], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func render(path, release, namespace string, given io.Reader, out io.Writer) error {
	chart, err := loader.Load(path)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(given)
	if err != nil {
		return err
	}
	values, err := chartutil.ReadValues(text)
	if err != nil {
		return err
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return err
	}
	return print(files, out)
}

func print(files map[string]string, out io.Writer) error {
	for name, text := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			delete(files, name)
			for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
				fmt.Fprint(out, "# ", line)
			}
		}
	}
	_, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	for _, manifest := range manifests {
		fmt.Fprintf(out, "---\n# Source: %s\n%s\n", manifest.Name, manifest.Content)
	}
	return nil
}
