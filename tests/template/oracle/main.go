// Oracle renders templates with Go's own text/template and sprig: what it answers is what ours must answer.
//
// It reads one JSON object a line, {"template": "...", "data": {...}}, and writes one a line: {"output": "..."}
// (or "hex", where the output is no valid UTF-8), or {"stage": "parse" or "exec", "error": "..."}.
//
// Build it with -tags faketime: then Go's runtime itself stands still at 2009-11-10 23:00:00 UTC, as on the Go playground,
// and sprig's date functions need no replacement. That tag frames what is written to standard output (file 1),
// which is why the answers go through a copy of it. Give it a file to read, not a pipe: a runtime whose time stands still
// may never wake up from an empty one.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"syscall"
	text "text/template"
	_ "time/tzdata"
	"unicode/utf8"

	"lynq.sh/tests/template/oracle/template"
)

type question struct {
	Template string
	Data     map[string]any
}

type answer struct {
	Output *string `json:"output,omitempty"`
	Hex    string  `json:"hex,omitempty"`
	Stage  string  `json:"stage,omitempty"`
	Error  string  `json:"error,omitempty"`
}

func main() {
	// Local time is read from the environment at its first use; ours is always UTC.
	if err := os.Setenv("TZ", "UTC"); err != nil {
		log.Fatal(err)
	}
	out, err := syscall.Dup(1)
	if err != nil {
		log.Fatal(err)
	}
	answers := json.NewEncoder(os.NewFile(uintptr(out), "answers"))
	answers.SetEscapeHTML(false)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		asked, err := parse(lines.Text())
		if err != nil {
			log.Fatal(err)
		}
		if err := answers.Encode(render(asked)); err != nil {
			log.Fatal(err)
		}
	}
}

func parse(line string) (question, error) {
	var asked question
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber()
	err := decoder.Decode(&asked)
	for key, value := range asked.Data {
		asked.Data[key] = typed(value)
	}
	return asked, err
}

// typed gives numbers the type they have in Python: int where they are written as integers, float64 elsewhere.
func typed(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return int(whole)
		}
		fraction, _ := v.Float64()
		return fraction
	case map[string]any:
		for key, item := range v {
			v[key] = typed(item)
		}
	case []any:
		for index, item := range v {
			v[index] = typed(item)
		}
	}
	return value
}

func render(asked question) (result answer) {
	// A run-time panic inside exec is no error of text/template's, but it is what a user would see.
	defer func() {
		if failure := recover(); failure != nil {
			result = answer{Stage: "exec", Error: fmt.Sprintf("panic: %v", failure)}
		}
	}()
	parsed, err := text.New("template").Option("missingkey=error").Funcs(functions()).Parse(asked.Template)
	if err != nil {
		return answer{Stage: "parse", Error: err.Error()}
	}
	var written strings.Builder
	if err := parsed.Execute(&written, template.Variables(asked.Data)); err != nil {
		return answer{Stage: "exec", Error: err.Error()}
	}
	output := written.String()
	if !utf8.ValidString(output) {
		return answer{Hex: hex.EncodeToString([]byte(output))}
	}
	return answer{Output: &output}
}
