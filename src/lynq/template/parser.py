"""Parses a template's source into a tree, after Go's text/template/parse/parse.go: same errors."""

from collections.abc import Callable
from typing import Final

from lynq.template import tree
from lynq.template.errors import ErrorKind, TemplateError
from lynq.template.gofmt.quoting import quote
from lynq.template.lexer import Kind, Token
from lynq.template.limits import DEFAULT_LIMITS, Limits
from lynq.template.literals import LiteralError, read_character, read_number, unquote
from lynq.template.stream import ROOT_NAME, TokenStream

_OPERANDS: Final = frozenset(
    {
        *(Kind.BOOL, Kind.CHAR_CONSTANT, Kind.COMPLEX, Kind.DOT, Kind.FIELD, Kind.IDENTIFIER),
        *(Kind.NUMBER, Kind.NIL, Kind.RAW_STRING, Kind.STRING, Kind.VARIABLE, Kind.LEFT_PAREN),
    }
)
_LITERALS: Final = (tree.Bool, tree.String, tree.NumberLiteral, tree.Nil, tree.Dot)


def parse(
    source: str, is_function: Callable[[str], bool], limits: Limits = DEFAULT_LIMITS
) -> tree.Template:
    """Parse a source; `is_function` reports whether a name is a function."""
    if len(source.encode("utf-8", "surrogatepass")) > limits.source:
        message = f"the template is longer than {limits.source} bytes"
        raise TemplateError(ErrorKind.LIMIT, 1, 0, message)
    return _Parser(source, is_function, limits).parse()


class _Parser:
    """One pass over a source."""

    def __init__(self, source: str, is_function: Callable[[str], bool], limits: Limits) -> None:
        self._source = source
        self._tokens = TokenStream(source, limits.tokens)
        self._is_function = is_function
        self._limits = limits
        self._nesting = 0
        self._variables = ["$"]
        self._loops = 0
        self._defined: dict[str, list[tree.Node]] = {}
        self._controls: dict[Kind, Callable[[Token], tree.Node]] = {
            Kind.BLOCK: self._block,
            Kind.BREAK: self._break,
            Kind.CONTINUE: self._continue,
            Kind.ELSE: self._else,
            Kind.END: self._end,
            Kind.IF: self._if,
            Kind.RANGE: self._range,
            Kind.TEMPLATE: self._template,
            Kind.WITH: self._with,
        }
        self._terms: dict[Kind, Callable[[Token], tree.Node]] = {
            Kind.IDENTIFIER: self._identifier,
            Kind.DOT: lambda token: tree.Dot(token.position),
            Kind.NIL: lambda token: tree.Nil(token.position),
            Kind.VARIABLE: self._variable,
            Kind.FIELD: lambda token: tree.Field(token.position, [token.text[1:]]),
            Kind.BOOL: lambda token: tree.Bool(token.position, token.text == "true"),
            Kind.CHAR_CONSTANT: self._number,
            Kind.COMPLEX: self._number,
            Kind.NUMBER: self._number,
            Kind.LEFT_PAREN: self._parenthesized,
            Kind.STRING: self._string_term,
            Kind.RAW_STRING: self._string_term,
        }

    # Lists of nodes.

    def parse(self) -> tree.Template:
        body: list[tree.Node] = []
        while self._tokens.peek().kind is not Kind.EOF:
            if self._tokens.peek().kind is Kind.LEFT_DELIM:
                delimiter = self._tokens.next()
                if self._tokens.next_word().kind is Kind.DEFINE:
                    self._definition()
                    continue
                self._tokens.back2(delimiter)
            node = self._text_or_action()
            if isinstance(node, tree.End | tree.Else):
                self._tokens.fail(f"unexpected {node}")
            body.append(node)
        self._define(ROOT_NAME, body)
        root = self._defined.pop(ROOT_NAME)
        return tree.Template(self._source, root, self._defined, self._tokens.scanned)

    def _definition(self) -> None:
        context = "define clause"
        name = self._string(self._tokens.expect(context, Kind.STRING, Kind.RAW_STRING))
        self._tokens.expect(context, Kind.RIGHT_DELIM)
        body, end = self._own_scope()
        if not isinstance(end, tree.End):
            self._tokens.fail(f"unexpected {end} in {context}")
        self._define(name, body)

    def _own_scope(self) -> tuple[list[tree.Node], tree.Node]:
        """Parse the body of a definition, without the enclosing variables and loops."""
        outside = self._variables, self._loops, self._tokens.action_line
        self._variables, self._loops, self._tokens.action_line = ["$"], 0, 0
        parsed = self._list()
        self._variables, self._loops, self._tokens.action_line = outside
        return parsed

    def _define(self, name: str, body: list[tree.Node]) -> None:
        if name not in self._defined or _is_empty(self._defined[name]):
            self._defined[name] = body
        elif not _is_empty(body):
            self._tokens.fail(f"template: multiple definition of template {quote(name)}")

    def _list(self) -> tuple[list[tree.Node], tree.Node]:
        """Parse up to `{{end}}` or `{{else}}`, which is returned separately."""
        self._enter()
        nodes: list[tree.Node] = []
        while True:
            if self._tokens.peek_word().kind is Kind.EOF:
                self._tokens.fail("unexpected EOF")
            node = self._text_or_action()
            if isinstance(node, tree.End | tree.Else):
                self._nesting -= 1
                return nodes, node
            nodes.append(node)

    def _enter(self) -> None:
        """Enter a nesting level: Go allows 10,000 levels, Python's stack far fewer."""
        self._nesting += 1
        if self._nesting > self._limits.nesting:
            message = f"nested deeper than the limit of {self._limits.nesting}"
            self._tokens.fail(message, ErrorKind.LIMIT)

    def _text_or_action(self) -> tree.Node:
        token = self._tokens.next_word()
        if token.kind is Kind.TEXT:
            return tree.Text(token.position, token.text)
        if token.kind is not Kind.LEFT_DELIM:
            self._tokens.unexpected(token, "input")
        self._tokens.action_line = token.line
        node = self._action()
        self._tokens.action_line = 0
        return node

    # Actions.

    def _action(self) -> tree.Node:
        token = self._tokens.next_word()
        control = self._controls.get(token.kind)
        if control is not None:
            return control(token)
        self._tokens.back()
        start = self._tokens.peek().position
        return tree.Action(start, self._pipeline("command", Kind.RIGHT_DELIM))

    def _break(self, token: Token) -> tree.Node:
        self._loop_control("{{break}}")
        return tree.Break(token.position)

    def _continue(self, token: Token) -> tree.Node:
        self._loop_control("{{continue}}")
        return tree.Continue(token.position)

    def _loop_control(self, name: str) -> None:
        token = self._tokens.next_word()
        if token.kind is not Kind.RIGHT_DELIM:
            self._tokens.unexpected(token, name)
        if not self._loops:
            self._tokens.fail(f"{name} outside {{{{range}}}}")

    def _else(self, _token: Token) -> tree.Node:
        following = self._tokens.peek_word()
        if following.kind in (Kind.IF, Kind.WITH):
            return tree.Else(following.position)
        return tree.Else(self._tokens.expect("else", Kind.RIGHT_DELIM).position)

    def _end(self, _token: Token) -> tree.Node:
        return tree.End(self._tokens.expect("end", Kind.RIGHT_DELIM).position)

    def _if(self, _token: Token) -> tree.Node:
        return tree.If(*self._control("if"))

    def _with(self, _token: Token) -> tree.Node:
        return tree.With(*self._control("with"))

    def _range(self, _token: Token) -> tree.Node:
        return tree.Range(*self._control("range"))

    def _control(
        self, context: str
    ) -> tuple[int, tree.Pipe, list[tree.Node], list[tree.Node] | None]:
        visible = len(self._variables)
        pipe = self._pipeline(context, Kind.RIGHT_DELIM)
        self._loops += context == "range"
        body, end = self._list()
        self._loops -= context == "range"
        otherwise = None if isinstance(end, tree.End) else self._otherwise(context)
        del self._variables[visible:]
        return pipe.position, pipe, body, otherwise

    def _otherwise(self, context: str) -> list[tree.Node]:
        """Parse what follows `{{else`: an `if` or `with` shares the block's `{{end}}`."""
        following = self._tokens.peek()
        if (context, following.kind) in (("if", Kind.IF), ("with", Kind.WITH)):
            self._enter()
            token = self._tokens.next()
            node = self._if(token) if context == "if" else self._with(token)
            self._nesting -= 1
            return [node]
        body, end = self._list()
        if not isinstance(end, tree.End):
            self._tokens.fail(f"expected end; found {end}")
        return body

    def _block(self, _token: Token) -> tree.Node:
        context = "block clause"
        token = self._tokens.next_word()
        name = self._template_name(token, context)
        pipe = self._pipeline(context, Kind.RIGHT_DELIM)
        body, end = self._own_scope()
        if not isinstance(end, tree.End):
            self._tokens.fail(f"unexpected {end} in {context}")
        self._define(name, body)
        return tree.Call(token.position, name, pipe)

    def _template(self, _token: Token) -> tree.Node:
        context = "template clause"
        token = self._tokens.next_word()
        name = self._template_name(token, context)
        pipe = None
        if self._tokens.next_word().kind is not Kind.RIGHT_DELIM:
            self._tokens.back()
            pipe = self._pipeline(context, Kind.RIGHT_DELIM)
        return tree.Call(token.position, name, pipe)

    def _template_name(self, token: Token, context: str) -> str:
        if token.kind not in (Kind.STRING, Kind.RAW_STRING):
            self._tokens.unexpected(token, context)
        return self._string(token)

    # Pipelines.

    def _pipeline(self, context: str, end: Kind) -> tree.Pipe:
        pipe = tree.Pipe(self._tokens.peek_word().position)
        self._declarations(pipe, context)
        while True:
            token = self._tokens.next_word()
            if token.kind is end:
                self._check_pipeline(pipe, context)
                return pipe
            if token.kind not in _OPERANDS:
                self._tokens.unexpected(token, context)
            self._tokens.back()
            pipe.commands.append(self._command())

    def _declarations(self, pipe: tree.Pipe, context: str) -> None:
        """Parse `$x :=`, `$x =`, or in a range `$i, $x :=`."""
        while (variable := self._tokens.peek_word()).kind is Kind.VARIABLE:
            self._tokens.next()
            adjacent = self._tokens.peek()
            following = self._tokens.peek_word()
            if following.kind in (Kind.ASSIGN, Kind.DECLARE):
                pipe.assigns = following.kind is Kind.ASSIGN
                self._tokens.next_word()
                self._declare(pipe, variable)
                return
            if following.kind is not Kind.CHAR or following.text != ",":
                if adjacent.kind is Kind.SPACE:
                    self._tokens.back3(variable, adjacent)
                else:
                    self._tokens.back2(variable)
                return
            self._tokens.next_word()
            self._declare(pipe, variable)
            if context != "range" or len(pipe.variables) > 1:
                self._tokens.fail(f"too many declarations in {context}")
            if self._tokens.peek_word().kind not in (
                Kind.VARIABLE,
                Kind.RIGHT_DELIM,
                Kind.RIGHT_PAREN,
            ):
                self._tokens.fail("range can only initialize variables")

    def _declare(self, pipe: tree.Pipe, token: Token) -> None:
        pipe.variables.append(tree.Variable(token.position, [token.text]))
        self._variables.append(token.text)

    def _check_pipeline(self, pipe: tree.Pipe, context: str) -> None:
        if not pipe.commands:
            self._tokens.fail(f"missing value for {context}")
        for stage, command in enumerate(pipe.commands[1:], start=2):
            if isinstance(command.args[0], _LITERALS):
                self._tokens.fail(f"non executable command in pipeline stage {stage}")

    def _command(self) -> tree.Command:
        command = tree.Command(self._tokens.peek_word().position)
        while True:
            self._tokens.peek_word()
            operand = self._operand()
            if operand is not None:
                command.args.append(operand)
            token = self._tokens.next()
            if token.kind is Kind.SPACE:
                continue
            if token.kind in (Kind.RIGHT_DELIM, Kind.RIGHT_PAREN):
                self._tokens.back()
            elif token.kind is not Kind.PIPE:
                self._tokens.unexpected(token, "operand")
            break
        if not command.args:
            self._tokens.fail("empty command")
        return command

    def _operand(self) -> tree.Node | None:
        node = self._term()
        if node is None or self._tokens.peek().kind is not Kind.FIELD:
            return node
        start = self._tokens.peek().position
        names: list[str] = []
        while self._tokens.peek().kind is Kind.FIELD:
            names.append(self._tokens.next().text[1:])
        if isinstance(node, tree.Field):
            return tree.Field(start, [*node.names, *names])
        if isinstance(node, tree.Variable):
            return tree.Variable(start, [*node.names, *names])
        if isinstance(node, _LITERALS):
            self._tokens.fail(f"unexpected . after term {quote(str(node))}")
        return tree.Chain(start, node, names)

    def _term(self) -> tree.Node | None:
        token = self._tokens.next_word()
        make = self._terms.get(token.kind)
        if make is None:
            self._tokens.back()
            return None
        return make(token)

    def _identifier(self, token: Token) -> tree.Node:
        if not self._is_function(token.text):
            self._tokens.fail(f"function {quote(token.text)} not defined")
        return tree.Identifier(token.position, token.text)

    def _variable(self, token: Token) -> tree.Node:
        if token.text not in self._variables:
            self._tokens.fail(f"undefined variable {quote(token.text)}")
        return tree.Variable(token.position, [token.text])

    def _number(self, token: Token) -> tree.Node:
        read = read_character if token.kind is Kind.CHAR_CONSTANT else read_number
        try:
            return tree.NumberLiteral(token.position, token.text, read(token.text))
        except LiteralError as error:
            self._tokens.fail(str(error))

    def _parenthesized(self, _token: Token) -> tree.Node:
        self._enter()
        pipe = self._pipeline("parenthesized pipeline", Kind.RIGHT_PAREN)
        self._nesting -= 1
        return pipe

    def _string_term(self, token: Token) -> tree.Node:
        return tree.String(token.position, token.text, self._string(token))

    def _string(self, token: Token) -> str:
        try:
            return unquote(token.text)
        except LiteralError as error:
            self._tokens.fail(str(error))


def _is_empty(body: list[tree.Node]) -> bool:
    """Report whether a body has only white space; such a definition may be replaced."""
    return all(isinstance(node, tree.Text) and not node.text.strip() for node in body)
