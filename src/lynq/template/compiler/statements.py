"""Bodies of templates: one expression where no loop is inside, statements where there is one."""

import ast
from dataclasses import replace

from lynq.template import tree
from lynq.template.analysis import walk
from lynq.template.compiler import codegen, expressions
from lynq.template.compiler.codegen import Expr, Unit

# Python allows 20 nested loops. Before that limit, an inner loop becomes a function.
_DEEPEST_LOOP = 15
_BOXING = frozenset({None, "[]interface {}", "map[string]interface {}"})
_LOOPING = (tree.Range, tree.Call, tree.Break, tree.Continue)


def is_straight(nodes: list[tree.Node]) -> bool:
    """Report whether a body can be compiled to one expression."""
    return not any(isinstance(node, _LOOPING) for node in walk(nodes))


def text(unit: Unit, nodes: list[tree.Node]) -> ast.expr:
    """Compile a body without loops to one expression."""
    pieces = [piece for node in nodes for piece in [_piece(unit, node)] if piece is not None]
    if not pieces:
        return codegen.constant("")
    if len(pieces) == 1:
        return pieces[0]
    if unit.program.marks:
        return codegen.call("join_marked", codegen.tuple_(*pieces))
    return _join(unit, pieces)


def _join(unit: Unit, pieces: list[ast.expr]) -> ast.expr:
    """Join pieces; the total size of many pieces is checked before they are joined."""
    dynamic = sum(not isinstance(piece, ast.Constant) for piece in pieces)
    if dynamic <= len("a handful"):
        return codegen.call("join", codegen.tuple_(*pieces))
    position = unit.position()
    return codegen.call(
        "checked_join", codegen.name("c"), codegen.tuple_(*pieces), position=position
    )


def _piece(unit: Unit, node: tree.Node) -> ast.expr | None:
    unit.at = node
    if isinstance(node, tree.Text):
        return codegen.constant(node.text)
    if isinstance(node, tree.Action):
        return _action(unit, node)
    if isinstance(node, tree.If):
        with unit.block():
            value = expressions.pipeline(unit, node.pipe)
            return codegen.conditional(value.code, _scoped(unit, node.body), _otherwise(unit, node))
    if isinstance(node, tree.With):
        with unit.block():
            value = expressions.pipeline(unit, node.pipe)
            dot = unit.fresh("d")
            test = codegen.bind(dot, value.code)
            body = _scoped(unit, node.body, _cursor(value, dot))
            return codegen.conditional(test, body, _otherwise(unit, node))
    return None


def _scoped(unit: Unit, nodes: list[tree.Node], dot: Expr | None = None) -> ast.expr:
    with unit.block(dot):
        return text(unit, nodes)


def _otherwise(unit: Unit, node: tree.Block) -> ast.expr:
    return _scoped(unit, node.otherwise) if node.otherwise else codegen.constant("")


def _cursor(value: Expr, dot: str) -> Expr:
    return Expr(codegen.name(dot), value.type, root=value.root)


def _action(unit: Unit, node: tree.Action) -> ast.expr:
    value = expressions.pipeline(unit, node.pipe)
    if node.pipe.variables:
        return codegen.after(value.code, codegen.constant(""))
    unit.at = node
    if value.type == "string":
        return value.code
    printer = "top_marked" if unit.program.marks else "top"
    position = unit.position()
    if value.type is not None:
        return _print(unit, printer, value.code, position)
    kept = unit.fresh("t")
    return codegen.conditional(
        codegen.is_class(codegen.bind(kept, value.code), "str"),
        codegen.name(kept),
        _print(unit, printer, codegen.name(kept), position),
    )


def _print(unit: Unit, printer: str, value: ast.expr, position: int) -> ast.expr:
    """Print a value that is not a string; its size is charged where many values are printed."""
    printed = codegen.call(printer, codegen.name("c"), value, position=position)
    if not unit.program.prints_much:
        return printed
    unit.program.wants_budget = True
    return codegen.call("meter", codegen.name("c"), printed, position=position)


def statements(unit: Unit, nodes: list[tree.Node]) -> list[ast.stmt]:
    """Compile a body to statements that write its output."""
    return [statement for node in nodes for statement in _statements(unit, node)]


def _statements(unit: Unit, node: tree.Node) -> list[ast.stmt]:
    unit.at = node
    if is_straight([node]):
        piece = _piece(unit, node)
        return [codegen.run(codegen.call("w", piece))] if piece is not None else []
    if isinstance(node, tree.Range):
        return _loop(unit, node)
    if isinstance(node, tree.Call):
        return [codegen.run(_template(unit, node))]
    if isinstance(node, tree.Block):
        return _branch(unit, node)
    stop = ast.Break if isinstance(node, tree.Break) else ast.Continue
    return [stop(**codegen.NOWHERE)]


def _branch(unit: Unit, node: tree.Block) -> list[ast.stmt]:
    with unit.block():
        value = expressions.pipeline(unit, node.pipe)
        test, dot = value.code, None
        if isinstance(node, tree.With):
            name = unit.fresh("d")
            test, dot = codegen.bind(name, test), _cursor(value, name)
        body = _block(unit, node.body, dot)
        return [codegen.branch(test, body, _block(unit, node.otherwise or []))]


def _block(unit: Unit, nodes: list[tree.Node], dot: Expr | None = None) -> list[ast.stmt]:
    with unit.block(dot):
        return statements(unit, nodes)


def _template(unit: Unit, node: tree.Call) -> ast.expr:
    """Compile a `template` action; the template is looked up when the action runs, as in Go."""
    position = unit.position()
    if node.name not in unit.program.defined:
        return expressions.failure(unit, f'template "{node.name}" not defined').code
    dot = codegen.constant(None)
    if node.pipe is not None:
        dot = expressions.pipeline(unit, node.pipe).code
    python = codegen.name(unit.program.defined[node.name])
    return codegen.call("run", codegen.name("c"), python, dot, codegen.name("w"), position=position)


def _loop(unit: Unit, node: tree.Range) -> list[ast.stmt]:
    if unit.loops < _DEEPEST_LOOP:
        return _range(unit, node)
    loops, unit.loops = unit.loops, 0
    name = unit.fresh("f")
    body = _range(unit, node)
    unit.loops = loops
    outer = sorted(_outer_names(unit, body))
    around: list[ast.stmt] = [ast.Nonlocal(outer, **codegen.NOWHERE)] if outer else []
    return [codegen.define(name, (), around + body), codegen.run(codegen.call(name))]


def _outer_names(unit: Unit, body: list[ast.stmt]) -> set[str]:
    """Return the names that a body assigns and that are declared outside of it."""
    visible = {codegen.identifier(expr.code) for _, expr in unit.variables}
    assigned = {
        name.id
        for statement in body
        for name in ast.walk(statement)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    return visible & assigned


def _range(unit: Unit, node: tree.Range) -> list[ast.stmt]:
    """Compile a loop; in its `else` branch the loop variables hold the whole value."""
    with unit.block():
        value = expressions.pipeline(unit, node.pipe)
        position = unit.position()
        count = codegen.constant(len(node.pipe.variables))
        items, index, element = unit.fresh("r"), unit.fresh("i"), unit.fresh("d")
        test = codegen.bind(items, codegen.call("over", value.code, count, position=position))
        iteration = [
            codegen.run(codegen.call("count_iteration", codegen.name("c"), position=position))
        ]
        boxed = value.type in _BOXING
        iteration += _loop_variables(unit, node.pipe, index, element, boxed=boxed)
        unit.loops += 1
        iteration += _block(unit, node.body, Expr(codegen.name(element), boxed=boxed))
        unit.loops -= 1
        loop = codegen.loop(index, element, codegen.name(items), iteration)
        return [codegen.branch(test, [loop], _block(unit, node.otherwise or []))]


def _loop_variables(
    unit: Unit, pipe: tree.Pipe, index: str, element: str, *, boxed: bool
) -> list[ast.stmt]:
    sources = (index, element) if len(pipe.variables) > 1 else (element,)
    assignments: list[ast.stmt] = []
    for variable, source in zip(pipe.variables, sources, strict=False):
        declared = unit.lookup(variable.names[0])
        if declared is not None:
            assignments.append(
                codegen.assign(codegen.identifier(declared.code), codegen.name(source))
            )
            stored = replace(declared, boxed=boxed and source == element)
            unit.variables.append((variable.names[0], stored))
    return assignments
