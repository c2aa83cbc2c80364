/** Splits YAML and its templates into tokens for highlighting. It colours; it does not parse. */

export type TokenType = "key" | "string" | "number" | "literal" | "comment" | "mark" | "template" | "text";

export interface Token {
  type: TokenType;
  text: string;
}

const KEY = /^(\s*(?:- +)*)("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#\-{[][^#]*?|-[^\s][^#]*?)(:)(?=\s|$)/;
const ITEM = /^(\s*(?:-(?: +|$))+)/;
const BLOCK = /^[|>][+-]?\d*[+-]?\s*(?:#.*)?$/;
const LITERAL = /^(?:true|false|null|~)$/;
const NUMBER = /^[-+]?(?:\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?|0x[\da-fA-F]+|\.\d+)$/;
const TEMPLATE = /\{\{.*?\}\}/g;
/** A longer line stays plain: the expressions are not linear. */
const MAX_LINE = 1000;

/** Return the tokens of each line. The texts of a line joined are the line. */
export function tokenize(yaml: string): Token[][] {
  let block = -1;
  return yaml.split("\n").map((line) => {
    if (line.length > MAX_LINE) return [{ type: "text", text: line }];
    const indent = line.length - line.trimStart().length;
    if (block >= 0 && (line.trim() === "" || indent > block)) return templated("string", line);
    block = -1;
    const { tokens, value } = keyed(line);
    if (BLOCK.test(value.trim())) {
      block = indent;
      return [...tokens, { type: "mark", text: value }];
    }
    return [...tokens, ...valued(value)];
  });
}

function keyed(line: string): { tokens: Token[]; value: string } {
  if (/^\s*#/.test(line) || /^(---|\.\.\.)/.test(line)) return { tokens: [], value: line };
  const key = KEY.exec(line);
  if (key && !(key[2] ?? "").includes("{{")) {
    const tokens: Token[] = [
      { type: "mark", text: key[1]! },
      { type: "key", text: key[2]! },
      { type: "mark", text: key[3]! },
    ];
    return { tokens: tokens.filter((token) => token.text), value: line.slice(key[0].length) };
  }
  const item = ITEM.exec(line);
  return item ? { tokens: [{ type: "mark", text: item[1]! }], value: line.slice(item[1]!.length) } : { tokens: [], value: line };
}

function valued(value: string): Token[] {
  if (!value) return [];
  const text = value.trim();
  if (text.startsWith("#") || text === "---") return [{ type: "comment", text: value }];
  const comment = /^["']/.test(text) ? null : /\s#.*$/.exec(value);
  if (comment && !value.includes("{{")) {
    return [...valued(value.slice(0, comment.index)), { type: "comment", text: comment[0] }];
  }
  if (LITERAL.test(text)) return [{ type: "literal", text: value }];
  if (NUMBER.test(text)) return [{ type: "number", text: value }];
  return templated(/^["']/.test(text) ? "string" : "text", value);
}

function templated(type: TokenType, text: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const match of text.matchAll(TEMPLATE)) {
    if (match.index > end) tokens.push({ type, text: text.slice(end, match.index) });
    tokens.push({ type: "template", text: match[0] });
    end = match.index + match[0].length;
  }
  if (end < text.length || !tokens.length) tokens.push({ type, text: text.slice(end) });
  return tokens;
}
