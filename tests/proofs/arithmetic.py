#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Promise: the numbers of a decision, of a stream and of a page are right for all values of their types; nothing wraps.

The formulas are not copied from the header: Clang parses it, its syntax tree is run with unknowns in the place of the
parameters and members, every implicit conversion included, and z3 is asked for a value of each unknown that breaks the
statement. A change of the header changes what is proven. Whatever this script does not understand is an error.

Everything is an integer: an unknown lies in the range of its type, and what the code computes is taken modulo 2^width,
as C++ does with unsigned numbers. The statements have no modulo. All of it is linear, so that z3 is done in seconds.
What is assumed stands in each proof beside its reason; a proof whose assumptions nothing fulfils is an error, too.

Usage: arithmetic.py [HEADER] [--keep DIRECTORY]    needs clang++ and z3; run for 64 and, where it parses, 32 bit
"""
import json
import re
import subprocess
import sys

class NotUnderstood(Exception):
    pass


# ---- Syntax tree ----------------------------------------------------------------------------------------------------


def declarations(header, mode, name):
    """All function declarations with a body whose qualified name ends with `name`."""
    command = ["clang++", mode, "-std=c++17", "-xc++", "-fsyntax-only", "-Xclang", "-ast-dump=json",
               "-Xclang", "-ast-dump-filter=" + name, header]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    decoder, found, at = json.JSONDecoder(), [], 0
    while True:
        at = text.find("{", at)
        if at < 0:
            return found
        node, at = decoder.raw_decode(text, at)
        short = name.split("::")[-1]
        is_function = node["kind"] in ("FunctionDecl", "CXXMethodDecl") and node.get("name") == short
        if is_function and any(child.get("kind") == "CompoundStmt" for child in node.get("inner", [])):
            found.append(node)


def inner(node):
    return node.get("inner", [])


def qualified_type(node):
    kind = node["type"]
    return kind.get("desugaredQualType", kind["qualType"]).replace("const ", "").replace("&", "").strip()


# ---- Terms ----------------------------------------------------------------------------------------------------------


def number(value, width):
    return str(value % (1 << width))


def modulo(text, limit, is_sum=False, is_difference=False):
    """`text` modulo `limit`. A sum or difference of two numbers below it passes an end at most once."""
    if is_sum:
        return f"(let ((sum {text})) (ite (>= sum {limit}) (- sum {limit}) sum))"
    if is_difference:
        return f"(let ((difference {text})) (ite (< difference 0) (+ difference {limit}) difference))"
    return f"(let ((all {text})) (ite (< all {limit}) all (mod all {limit})))"


class Term:
    """An integer of `width` bits, or a truth value (width 0). Signed ones are literals and never negative."""

    def __init__(self, text, width, is_signed=False):
        self.text, self.width, self.is_signed = text, width, is_signed


def wide(value):
    return value.text if isinstance(value, Term) else str(value)


def add(a, b):
    return f"(+ {a} {b})"


def all_of(*terms):
    return "(and true " + " ".join(terms) + ")"


class Machine:
    """Runs function bodies with unknowns. A path is (condition, values, returned); branches split it."""

    def __init__(self, header, mode):
        self.header, self.mode = header, mode
        self.unknowns = {}  # name -> width
        self.functions = {}
        self.special = {}  # called name -> function(machine, object path, functions that evaluate) -> Term or path
        self.enums = {}  # enumerator's id -> number
        self.calls = 0
        text = open(header, encoding="utf-8").read()
        text = re.sub(r"//[^\n]*", "", text)
        for name, words in re.findall(r"enum class (\w+) : std::uint8_t \{([^}]*)\}", text):
            names = [word.strip() for word in words.split(",") if word.strip()]
            self.enums.update({(name, word): value for value, word in enumerate(names)})
        self.rows = re.findall(r"\{r::(\w+), o::(\w+), (\d+),", text)

    def function(self, name):
        if name not in self.functions:
            found = declarations(self.header, self.mode, name)
            if len(found) != 1:
                raise NotUnderstood(f"{len(found)} functions with a body are called {name}")
            self.functions[name] = found[0]
        return self.functions[name]

    def width_of(self, type_name):
        widths = {"bool": 0, "char": 8, "unsigned char": 8, "unsigned short": 16, "int": 32, "unsigned int": 32,
                  "unsigned long": 64 if self.mode == "-m64" else 32, "unsigned long long": 64}
        short = type_name.split("::")[-1]
        if type_name in widths:
            return widths[type_name], type_name in ("int", "char")
        if any(enum == short for enum, _ in self.enums):
            return 8, False
        raise NotUnderstood(f"type {type_name}")

    def unknown(self, path, type_name):
        width, is_signed = self.width_of(type_name)
        if is_signed:
            raise NotUnderstood(f"a signed unknown, {path}")
        self.unknowns[path] = width
        return Term(f"|{path}|", width, is_signed)

    def enumerator(self, enum, name):
        return Term(number(self.enums[enum, name], 8), 8)

    # -- Expressions: values are Terms; places are paths (strings)

    def place(self, node, values, scope):
        kind = node["kind"]
        if kind in ("ParenExpr", "ImplicitCastExpr", "CXXConstructExpr", "MaterializeTemporaryExpr",
                    "ExprWithCleanups"):
            if len(inner(node)) != 1:
                raise NotUnderstood(f"{kind} with {len(inner(node))} operands")
            return self.place(inner(node)[0], values, scope)
        if kind == "CXXThisExpr":
            return scope["this"]
        if kind == "DeclRefExpr":
            name = node["referencedDecl"]["name"]
            return scope.get(name, name)
        if kind == "MemberExpr":
            return self.place(inner(node)[0], values, scope) + "." + node["name"]
        if kind == "UnaryOperator" and node["opcode"] == "*":
            return self.place(inner(node)[0], values, scope)
        if kind in ("CXXMemberCallExpr", "CallExpr", "CXXOperatorCallExpr"):
            result = self.call(node, values, scope)
            if isinstance(result, str):
                return result
        raise NotUnderstood(f"a place that is {kind}")

    def value(self, node, values, scope):
        kind = node["kind"]
        method = getattr(self, "value_" + kind, None)
        if method is None:
            raise NotUnderstood(f"an expression that is {kind}")
        return method(node, values, scope)

    def load(self, path, type_name, values):
        if path not in values:
            values[path] = self.unknown(path, type_name)
        return values[path]

    def only_operand(self, node, values, scope):
        return self.value(inner(node)[0], values, scope)

    value_ParenExpr = value_ConstantExpr = value_ExprWithCleanups = value_MaterializeTemporaryExpr = only_operand

    def value_IntegerLiteral(self, node, values, scope):
        width, is_signed = self.width_of(qualified_type(node))
        return Term(number(int(node["value"]), width), width, is_signed)

    def value_CharacterLiteral(self, node, values, scope):
        return Term(number(node["value"], 8), 8, True)

    def value_CXXBoolLiteralExpr(self, node, values, scope):
        return Term("true" if node["value"] else "false", 0)

    def value_UnaryExprOrTypeTraitExpr(self, node, values, scope):
        sizes = {"mcp_resume::detail::slot": 8}  # the header asserts it
        width, _ = self.width_of(qualified_type(node))
        return Term(number(sizes[node["argType"]["qualType"]], width), width)

    def value_DeclRefExpr(self, node, values, scope):
        declared = node["referencedDecl"]
        if declared["kind"] == "EnumConstantDecl":
            return self.enumerator(declared["type"]["qualType"].split("::")[-1], declared["name"])
        if declared["name"] in CONSTANTS:
            width, is_signed = self.width_of(qualified_type(node))
            return Term(number(CONSTANTS[declared["name"]], width), width, is_signed)
        return self.load(self.place(node, values, scope), qualified_type(node), values)

    def value_MemberExpr(self, node, values, scope):
        return self.load(self.place(node, values, scope), qualified_type(node), values)

    def cast(self, term, type_name):
        width, is_signed = self.width_of(type_name)
        if width == term.width:
            return Term(term.text, width, is_signed)
        if width == 0:
            return Term(f"(distinct {term.text} {number(0, term.width)})", 0)
        if term.width == 0:
            return Term(f"(ite {term.text} {number(1, width)} {number(0, width)})", width, is_signed)
        if width < term.width:
            return Term(modulo(term.text, 1 << width), width, is_signed)
        return Term(term.text, width, is_signed)

    def value_ImplicitCastExpr(self, node, values, scope):
        how = node["castKind"]
        operand = inner(node)[0]
        if how in ("LValueToRValue", "NoOp"):
            return self.value(operand, values, scope)
        if how in ("IntegralCast", "IntegralToBoolean"):
            return self.cast(self.value(operand, values, scope), qualified_type(node))
        raise NotUnderstood(f"the conversion {how}")

    value_CXXStaticCastExpr = value_CXXFunctionalCastExpr = value_ImplicitCastExpr
    value_InitListExpr = only_operand

    def value_ConditionalOperator(self, node, values, scope):
        condition, yes, no = (self.value(child, values, scope) for child in inner(node))
        return Term(f"(ite {condition.text} {yes.text} {no.text})", yes.width, yes.is_signed)

    def value_UnaryOperator(self, node, values, scope):
        operand, opcode = inner(node)[0], node["opcode"]
        if opcode in ("++", "--"):
            path = self.place(operand, values, scope)
            before = self.load(path, qualified_type(operand), values)
            changed = f"({opcode[0]} {before.text} 1)"
            after = Term(modulo(changed, 1 << before.width, opcode == "++", opcode == "--"), before.width)
            values[path] = after
            return before if node["isPostfix"] else after
        term = self.value(operand, values, scope)
        if opcode == "!":
            return Term(f"(not {term.text})", 0)
        if opcode == "~":
            return Term(f"(- {(1 << term.width) - 1} {term.text})", term.width)
        raise NotUnderstood(f"the operator {opcode}")

    def value_BinaryOperator(self, node, values, scope):
        opcode = node["opcode"]
        if opcode == "=":
            result = self.value(inner(node)[1], values, scope)
            values[self.place(inner(node)[0], values, scope)] = result
            return result
        a, b = (self.value(child, values, scope) for child in inner(node))
        if opcode in ("&&", "||"):
            return Term(f"({'and' if opcode == '&&' else 'or'} {a.text} {b.text})", 0)
        if a.width != b.width:
            raise NotUnderstood(f"{opcode} between {a.width} and {b.width} bits")
        if opcode in ("==", "!="):
            return Term(f"({'=' if opcode == '==' else 'distinct'} {a.text} {b.text})", 0)
        if opcode in ("<", "<=", ">", ">="):
            return Term(f"({opcode} {a.text} {b.text})", 0)
        if a.is_signed:
            raise NotUnderstood(f"the operator {opcode} on signed numbers")
        if opcode == "&" and b.text.isdigit() and int(b.text) & (int(b.text) + 1) == 0:  # the low bits
            return Term(modulo(a.text, int(b.text) + 1), a.width)
        is_linear = opcode in ("+", "-") or (opcode == "*" and (a.text.isdigit() or b.text.isdigit()))
        if not is_linear:
            raise NotUnderstood(f"the operator {opcode}")
        return Term(modulo(f"({opcode} {a.text} {b.text})", 1 << a.width, opcode == "+", opcode == "-"), a.width)

    # -- Calls

    def call(self, node, values, scope):
        callee, *arguments = inner(node)
        while callee["kind"] in ("ImplicitCastExpr", "ParenExpr"):
            callee = inner(callee)[0]
        is_member = callee["kind"] == "MemberExpr"
        name = callee["name"] if is_member else callee["referencedDecl"]["name"]
        this = self.place(inner(callee)[0], values, scope) if is_member else None
        if name in self.special:
            return self.special[name](self, this, [lambda a=a: self.value(a, values, scope) for a in arguments])
        body_of = self.function(MEMBERS.get(name, name))
        self.calls += 1
        inside = {"this": this}
        for parameter, argument in zip([p for p in inner(body_of) if p["kind"] == "ParmVarDecl"], arguments):
            given = self.argument(argument, values, scope)
            inside[parameter["name"]] = given if isinstance(given, str) else f"{parameter['name']}#{self.calls}"
            if not isinstance(given, str):
                values[inside[parameter["name"]]] = given
        paths = self.run(body_of, values, inside)
        result = paths[-1][2]
        for condition, _, returned in reversed(paths[:-1]):
            result = Term(f"(ite {condition} {returned.text} {result.text})", result.width, result.is_signed)
        return result

    def argument(self, node, values, scope):
        try:
            return self.value(node, values, scope)
        except NotUnderstood:
            return self.place(node, values, scope)  # an object

    value_CallExpr = value_CXXMemberCallExpr = call

    def value_CXXConstructExpr(self, node, values, scope):
        raise NotUnderstood("the value of an object")

    # -- Statements

    def run(self, function, values, scope, until=None):
        """All paths through a function, or up to the declaration of the variable `until`."""
        body = [child for child in inner(function) if child["kind"] == "CompoundStmt"][0]
        return self.statements(inner(body), "true", dict(values), dict(scope), until)

    def statements(self, nodes, condition, values, scope, until):
        for at, node in enumerate(nodes):
            kind = node["kind"]
            if kind == "ReturnStmt":
                returned = self.value(inner(node)[0], values, scope) if inner(node) else None
                return [(condition, values, returned)]
            if kind == "IfStmt":
                return self.branch(node, nodes[at + 1:], condition, values, scope, until)
            if kind == "DeclStmt":
                if any(child["name"] == until for child in inner(node)):
                    return [(condition, values, until)]
                for child in inner(node):
                    self.declare(child, values, scope)
            elif kind == "CXXOperatorCallExpr":
                self.assign_object(node, values, scope)
            else:
                self.value(node, values, scope)
        return [(condition, values, None)]

    def declare(self, node, values, scope):
        if node.get("constexpr") and node["name"] in CONSTANTS:
            return
        given = self.argument(inner(node)[0], values, scope)
        scope[node["name"]] = given if isinstance(given, str) else node["name"]
        if not isinstance(given, str):
            values[node["name"]] = given

    def assign_object(self, node, values, scope):
        operator, to, source = inner(node)
        if inner(operator)[0]["referencedDecl"]["name"] != "operator=":
            raise NotUnderstood("an operator call")
        target, origin = self.place(to, values, scope), self.place(source, values, scope)
        for member, type_name in OBJECTS[qualified_type(to).split("::")[-1]].items():
            values[f"{target}.{member}"] = self.load(f"{origin}.{member}", type_name, values)

    def branch(self, node, rest, condition, values, scope, until):
        parts = inner(node)
        asked = self.value(parts[0], values, scope).text
        paths = []
        for holds, part in ((asked, parts[1]), (f"(not {asked})", parts[2] if len(parts) > 2 else None)):
            chosen = [] if part is None else inner(part) if part["kind"] == "CompoundStmt" else [part]
            both = f"(and {condition} {holds})"
            paths += self.statements(chosen + rest, both, dict(values), dict(scope), until)
        return paths


U64 = "unsigned long long"
CONSTANTS = {}  # read from the header
MEMBERS = {"first": "record::first", "unread": "record::unread", "index_of": "page::index_of"}
OBJECTS = {"window": {"first": U64, "next": U64}}


def read_constants(header):
    """The named constants, from the header's text: name = expression of numbers, shifts and ~."""
    text = open(header, encoding="utf-8").read()
    for name in ("event_overhead", "largest_cost", "smallest_page", "largest_page", "largest_shared_payload",
                 "longest_page_time", "last_seq"):
        found = re.findall(r"constexpr std::\w+ (?:\w+ = [^,;]*, )?" + name + r" = ([^,;]+)[,;]", text)
        if len(found) != 1:
            raise NotUnderstood(f"{len(found)} definitions of {name}")
        width = 32 if "uint32" in found[0] else 64
        expression = re.sub(r"std::\w+\{(\d+)\}", r"\1", found[0]).replace("U", "")
        expression = expression.replace("sizeof(void*)", "8").replace("/", "//")  # what is proven for more holds for less
        CONSTANTS[name] = eval(expression, {"__builtins__": {}}) % (1 << width)  # digits and operators alone
        if not re.fullmatch(r"[\d\s<~\-+/()]+", expression):
            raise NotUnderstood(f"the constant {name} = {found[0]}")


# ---- Proofs ---------------------------------------------------------------------------------------------------------


class Prover:
    def __init__(self, header, mode, keep):
        self.header, self.mode, self.keep = header, mode, keep
        self.count = 0

    def ask(self, machine, formula):
        lines = []
        for name, width in sorted(machine.unknowns.items()):
            lines.append(f"(declare-const |{name}| {'Bool' if width == 0 else 'Int'})")
            if width != 0:
                lines.append(f"(assert (<= 0 |{name}| {(1 << width) - 1}))")
        lines += [f"(assert {formula})", "(check-sat)"]
        if machine.unknowns:
            lines.append("(get-model)")
        text = "\n".join(lines) + "\n"
        if self.keep:
            with open(f"{self.keep}/{self.mode[2:]}-{self.count}.smt2", "w", encoding="utf-8") as file:
                file.write(text)
        self.count += 1
        answer = subprocess.run(["z3", "-in", "-T:100"], input=text.encode(), stdout=subprocess.PIPE, check=False)
        return answer.stdout.decode()

    def prove(self, name, machine, assumed, paths, statement):
        """`statement(values, returned)`, or each of several, holds at the end of every path."""
        is_reached = False
        for condition, values, returned in paths:
            holds = statement(values, returned)
            here = all_of(assumed, condition)
            if self.ask(machine, here).startswith("sat"):
                is_reached = True
            for part in holds if isinstance(holds, tuple) else (holds,):
                answer = self.ask(machine, all_of(here, f"(not {part})"))
                if answer.startswith("unsat"):
                    continue
                values_found = re.findall(r"define-fun \|?([^ |]+)\|? \(\) \w+\s+(\w+)", answer)
                shown = ", ".join(f"{key} = {value}" for key, value in values_found)
                raise SystemExit(f"{self.mode} {name}: NOT PROVEN ({answer.split()[0]}): {shown}")
        if not is_reached:
            raise SystemExit(f"{self.mode} {name}: nothing fulfils what is assumed")
        print(f"{self.mode} {name}: proven on {len(paths)} paths")


def le(*terms):
    """a <= b <= c ... of integers."""
    wides = [wide(term) for term in terms]
    return all_of(*(f"(<= {a} {b})" for a, b in zip(wides, wides[1:])))


def equal(a, b):
    return f"(= {a} {b})"


def is_place(machine, returned, name):
    return equal(returned.text, machine.enumerator("place_fact", name).text)


def prove_place_of(prover):
    machine = Machine(prover.header, prover.mode)
    seq, first, next_ = (machine.unknown(path, U64) for path in ("seq", "held.first", "held.next"))
    paths = machine.run(machine.function("place_of"), {}, {})
    after = add(wide(seq), wide(1))
    is_ahead = f"(>= {wide(seq)} {wide(next_)})"
    is_evicted = all_of(f"(not {is_ahead})", f"(< {after} {wide(first)})")
    is_newest = all_of(f"(not (or {is_ahead} {is_evicted}))", equal(after, wide(next_)))
    is_inside = f"(not (or {is_ahead} {is_evicted} {is_newest}))"
    facts = {"ahead": is_ahead, "evicted": is_evicted, "newest": is_newest, "inside": is_inside}

    def statement(_, returned):
        return all_of(*(equal(fact, is_place(machine, returned, name)) for name, fact in facts.items()))

    prover.prove("place_of: rows 12, 14, 15, 16, 17 compare integers, whatever the window", machine, "true", paths,
                 statement)


def a_window(first, next_):
    """What every window fulfils: numbers begin at 1, and the last seq that is issued is 2^64 - 2."""
    return le(1, first, next_)


def prove_place_after_gap(prover):
    machine = Machine(prover.header, prover.mode)
    first, next_ = (machine.unknown(path, U64) for path in ("held.first", "held.next"))
    rule, is_finished = machine.unknown("rule", "after_gap"), machine.unknown("is_finished", "bool")
    paths = machine.run(machine.function("place_after_gap"), {}, {})
    is_oldest = equal(rule.text, machine.enumerator("after_gap", "oldest_held").text)
    is_before_last = all_of(is_finished.text, f"(distinct {first.text} {next_.text})")

    def statement(_, place):
        before_last = f"(ite {is_before_last} {wide(2)} {wide(1)})"
        right = f"(ite {is_oldest} {equal(add(wide(place), wide(1)), wide(first))} " \
                f"{equal(add(wide(place), before_last), wide(next_))})"
        inside = all_of(f"(>= {add(wide(place), wide(1))} {wide(first)})", f"(< {wide(place)} {wide(next_)})")
        return all_of(right, inside)

    prover.prove("place_after_gap: the place is at or after the window's begin and before `next`", machine,
                 a_window(first, next_), paths, statement)


def outcome_of(machine, this, _):
    """The outcome of a reason, from the header's rows."""
    reason = machine.unknown(this + ".reason", "reason")
    result = number(255, 8)
    for name, outcome, _ in machine.rows:
        row = equal(reason.text, machine.enumerator("reason", name).text)
        word = "continue_" if outcome == "continue_" else outcome
        result = f"(ite {row} {machine.enumerator('outcome', word).text} {result})"
    return Term(result, 8)


def prove_place_reader(prover):
    machine = Machine(prover.header, prover.mode)
    machine.special["outcome"] = outcome_of
    seq, first, next_ = (machine.unknown(path, U64) for path in
                         ("decided.cursor.seq", "stream.window.first", "stream.window.next"))
    reason = machine.unknown("decided.reason", "reason")
    zero = Term(number(0, 64), 64)
    initial = {"decided." + member: zero for member in ("missed", "no_longer_held", "resume_after")}
    paths = machine.run(machine.function("place_reader"), initial, {})

    def has(*names):
        return "(or " + " ".join(equal(reason.text, machine.enumerator("reason", n).text) for n in names) + ")"

    after = add(wide(seq), wide(1))
    is_evicted, is_newest = f"(< {after} {wide(first)})", equal(after, wide(next_))
    # What decide() has found by place_of (proven above), and resolve_resume() of a read mark: it is below `next`.
    is_reading = has("fresh", "evicted", "complete", "up_to_date", "replay")
    decided = all_of(f"(=> {is_reading} (< {wide(seq)} {wide(next_)}))",
                     f"(=> {has('evicted')} {is_evicted})",
                     f"(=> {has('complete', 'up_to_date', 'replay')} (not {is_evicted}))",
                     f"(=> {has('complete', 'up_to_date')} {is_newest})",
                     f"(< {reason.text} {number(len(machine.rows), 8)})")

    def statement(values, _):
        place, missed, lost = (values["decided." + name] for name in ("resume_after", "missed", "no_longer_held"))
        is_gap = all_of(is_reading, is_evicted)
        counted = all_of(equal(add(wide(seq), wide(missed)), wide(place)),
                         equal(add(after, wide(lost)), wide(first)), le(1, lost, missed),
                         f"(>= {add(wide(place), wide(1))} {wide(first)})")
        nothing = all_of(equal(wide(missed), wide(0)), equal(wide(lost), wide(0)))
        return all_of(f"(=> {is_gap} {counted})", f"(=> (not {is_gap}) {nothing})",
                      f"(=> (and {is_reading} (not {is_evicted})) {equal(place.text, seq.text)})",
                      f"(=> {has('stale_incarnation')} {equal(add(wide(place), wide(1)), wide(first))})",
                      f"(=> {is_reading} (< {wide(place)} {wide(next_)}))")

    prover.prove("place_reader: missed and no_longer_held are the distances, and 0 where nothing is", machine,
                 all_of(a_window(first, next_), decided), paths, statement)


def a_record(machine, path):
    next_, read_mark = machine.unknown(path + ".next", U64), machine.unknown(path + ".read_mark", U64)
    count = machine.unknown(path + ".count", "unsigned int")
    # Numbers begin at 1 and count of them are held; nobody is handed an event that was not appended.
    return next_, read_mark, count, all_of(f"(< {wide(count)} {wide(next_)})",
                                           f"(< {wide(read_mark)} {wide(next_)})")


def prove_record(prover):
    machine = Machine(prover.header, prover.mode)
    next_, read_mark, count, assumed = a_record(machine, "r")
    paths = machine.run(machine.function("record::first"), {}, {"this": "r"})
    prover.prove("record::first: first + count = next", machine, assumed, paths,
                 lambda _, first: all_of(equal(add(wide(first), wide(count)), wide(next_)), le(1, first, next_)))
    paths = machine.run(machine.function("record::unread"), {}, {"this": "r"})
    begin = f"(- {wide(next_)} {wide(count)})"
    after_mark = add(wide(read_mark), wide(1))
    from_ = f"(ite (< {after_mark} {begin}) {begin} {after_mark})"
    prover.prove("record::unread: the held events after the read mark", machine, assumed, paths,
                 lambda _, unread: equal(add(wide(unread), from_), wide(next_)))


def prove_append(prover):
    machine = Machine(prover.header, prover.mode)
    size_type = "unsigned long"
    size = machine.unknown("payload.size", size_type)
    machine.special["size"] = lambda *_: size
    machine.special["empty"] = lambda *_: Term(equal(size.text, number(0, size.width)), 0)
    max_bytes = machine.unknown("log.bounds_.max_bytes", size_type)
    next_ = machine.unknown("to.next", U64)
    paths = machine.run(machine.function("event_log::append"), {}, {"this": "log"}, until="room")

    def statement(_, returned):
        if returned != "room":
            return "true"
        cost = add(wide(size), wide(16))
        return all_of(le(1, size), f"(<= {cost} {wide(max_bytes)})", f"(<= {cost} {wide(1 << 31)})",
                      f"(< {wide(next_)} {wide((1 << 64) - 1)})")

    prover.prove("event_log::append: what is taken fits the byte bound and 2 GiB, and has a number below 2^64 - 1",
                 machine, "true", paths, statement)


def prove_page(prover):
    machine = Machine(prover.header, prover.mode)
    size_type = "unsigned long"
    size, begin = machine.unknown("payload_size", size_type), machine.unknown("begin", size_type)
    machine.special["begin_of"] = lambda *_: begin
    capacity, count = (machine.unknown("p." + name, "unsigned int") for name in ("capacity", "count"))
    now, base = machine.unknown("now", U64), machine.unknown("p.base_ms", U64)
    paths = machine.run(machine.function("page::has_room_for"), {}, {"this": "p"})
    taken = add(wide(begin), f"(* {wide(8)} {wide(count)})")
    # What is taken lies in the page; append lets no larger payload pass (proven above); time only grows.
    fits = all_of(f"(<= {taken} {wide(capacity)})", le(1, size, (1 << 31) - 16), le(base, now))

    def statement(_, has_room):
        has_place = f"(<= {add(taken, add(wide(size), wide(8)))} {wide(capacity)})"
        is_near = f"(<= {wide(now)} {add(wide(base), wide((1 << 32) - 1))})"
        return equal(has_room.text, all_of(has_place, is_near))

    prover.prove("page::has_room_for: payload and slot lie in the page, the age in 32 bits", machine, fits, paths,
                 statement)
    prove_add(prover)


def slot_at(_machine, _this, arguments):
    arguments[0]()  # it counts the slot
    return "slot"


def prove_add(prover):
    machine = Machine(prover.header, prover.mode)
    size_type = "unsigned long"
    size, begin = machine.unknown("payload.size", size_type), machine.unknown("begin", size_type)
    now, base = machine.unknown("now", U64), machine.unknown("p.base_ms", U64)
    capacity, count = (machine.unknown("p." + name, "unsigned int") for name in ("capacity", "count"))
    machine.special.update(begin_of=lambda *_: begin, slot_at=slot_at, payloads=lambda *_: "bytes",
                           size=lambda *_: size, copy=lambda *_: size)
    paths = machine.run(machine.function("page::add"), {}, {"this": "p"})
    is_first = equal(count.text, number(0, 32))
    # As has_room_for found it (proven above); the first event gives the base. The largest page is that of one payload
    # of 2^31 - 16 bytes and its slot, so that payloads end below 2^31.
    room = all_of(f"(<= {add(wide(begin), wide(size))} {wide((1 << 31) - 16)})", le(1, size),
                  f"(or {is_first} (and {le(base, now)} (<= {wide(now)} {add(wide(base), wide((1 << 32) - 1))})))")

    def statement(values, _):
        end, age = values["slot.end"], values["slot.age"]
        new_base = values["p.base_ms"]
        return (equal(wide(end), add(wide(begin), wide(size))), f"(< {wide(end)} {wide(1 << 31)})",
                equal(add(wide(new_base), wide(age)), wide(now)))

    prover.prove("page::add: the slot's end keeps its 31 bits, its age is the time since the base", machine, room,
                 paths, statement)


PROOFS = (prove_place_of, prove_place_after_gap, prove_place_reader, prove_record, prove_append, prove_page)


def parses(header, mode):
    command = ["clang++", mode, "-std=c++17", "-xc++", "-fsyntax-only", header]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


def main(arguments):
    keep = None
    if "--keep" in arguments:
        at = arguments.index("--keep")
        keep = arguments[at + 1]
        del arguments[at:at + 2]
    header = arguments[0] if arguments else "include/mcp_resume/resume.hpp"
    read_constants(header)
    for mode in ("-m64", "-m32"):
        if mode == "-m32" and not parses(header, mode):
            print("-m32: left out, its standard library is not there")
            continue
        prover = Prover(header, mode, keep)
        for prove in PROOFS:
            prove(prover)
    print("all proven")


if __name__ == "__main__":
    main(sys.argv[1:])
