package main

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// functions is sprig's table as the operator offers it: without the three that look at the machine, with its additions.
func functions() template.FuncMap {
	table := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(table, name)
	}
	table["toHost"] = toHost
	table["trunc63"] = trunc63
	table["toJson"] = toJSON
	table["fromJson"] = fromJSON
	table["int"] = toInt
	table["float"] = toFloat
	table["bool"] = toBool
	// Round(0) takes away the reading of the monotonic clock, which would print as "m=+0.01".
	table["now"] = func() time.Time { return time.Now().Round(0) }
	return table
}

func toHost(text string) string {
	if parsed, err := url.Parse(text); err == nil && parsed.Host != "" {
		return parsed.Hostname()
	}
	host, _, _ := strings.Cut(text, ":")
	return host
}

func trunc63(text string) string {
	return text[:min(len(text), 63)]
}

func toJSON(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

func fromJSON(text string) any {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return map[string]any{}
	}
	return value
}

func toInt(value any) int {
	switch v := value.(type) {
	case int:
		return v
	case int32:
		return int(v)
	case int64:
		return int(v)
	case float32:
		return int(v)
	case float64:
		return int(v)
	case bool:
		if v {
			return 1
		}
	case string:
		if number, err := strconv.Atoi(v); err == nil {
			return number
		}
		if number, err := strconv.ParseFloat(v, 64); err == nil {
			return int(number)
		}
	}
	return 0
}

func toFloat(value any) float64 {
	switch v := value.(type) {
	case int:
		return float64(v)
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case float32:
		return float64(v)
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
	case string:
		if number, err := strconv.ParseFloat(v, 64); err == nil {
			return number
		}
	}
	return 0
}

func toBool(value any) bool {
	switch v := value.(type) {
	case bool:
		return v
	case string:
		switch strings.ToLower(v) {
		case "true", "1", "yes", "on", "t", "y":
			return true
		}
		return false
	}
	return toFloat(value) != 0
}
