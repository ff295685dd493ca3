// Lexer, parser and trees: what text tests can't say: depth, length, views, values, the lexer's other modes.
#include "test.h"

#include <cmath>

#include "cresset/frontend/parser.h"
#include "cresset/support/error.h"

using namespace cresset;

namespace {

std::shared_ptr<const Source> sourceOf(std::string text) {
  return std::make_shared<const Source>(std::move(text), "test.py");
}

Expr parseExpression(std::string text) {
  return SourceParser(sourceOf(std::move(text))).parseExpression();
}

std::string repeat(const std::string& text, size_t n) {
  std::string out;
  out.reserve(text.size() * n);
  for (size_t i = 0; i < n; ++i) out += text;
  return out;
}

std::string messageOf(const std::string& text) {
  try {
    SourceParser(sourceOf(text)).parseStatements();
  } catch (const UserError& e) {
    CHECK(e.range());
    return e.message();
  }
  return "";
}

std::vector<int> kinds(const std::string& text) {
  std::vector<int> out;
  for (Lexer lexer(sourceOf(text)); lexer.cur().kind != TK_EOF; lexer.skip()) out.push_back(lexer.cur().kind);
  return out;
}

}  // namespace

TEST_CASE("syntax: the seed's token stream") {
  CHECK(
      kinds("if\n  .\n  .\n") ==
      std::vector<int>{TK_IF, TK_NEWLINE, TK_INDENT, '.', TK_NEWLINE, '.', TK_NEWLINE, TK_DEDENT});
}

TEST_CASE("syntax: the seed's tree, operands in the order of the source") {
  CHECK(
      parseExpression("z.sigmoid() - (x + y)").tree()->toString(true) ==
      "(-\n"
      "  (apply\n"
      "    (.\n"
      "      (variable (ident z))\n"
      "      (ident sigmoid))\n"
      "    (list)\n"
      "    (list))\n"
      "  (+\n"
      "    (variable (ident x))\n"
      "    (variable (ident y))))");
  CHECK(parseExpression("x - 1").tree()->toString() == "(- (variable (ident x)) (const 1))");
}

TEST_CASE("syntax: nesting beyond the limit is an error") {
  for (std::string open :
       {"(", "[", "{", "f(", "x[", "-", "not ", "x ** ", "x if y else ", "f(a=", "{1: ", "[x for y in "}) {
    CAPTURE(open);
    CHECK(messageOf(repeat(open, 1'000'000)).find("nested too deeply") != std::string::npos);
  }
  std::string ifs;
  for (size_t i = 0; i < 10'000; ++i) ifs += repeat(" ", i) + "if x:\n";
  CHECK(messageOf(ifs).find("nested too deeply") != std::string::npos);
  CHECK(messageOf("if x: y\n" + repeat("elif x: y\n", 10'000)).find("nested too deeply") != std::string::npos);
  CHECK(messageOf("x" + repeat(".f()", 100'000)).find("nested too deeply") != std::string::npos);
  CHECK(
      messageOf("def f(x: " + repeat("'", 1) + repeat("List[", 1000) + "'): pass").find("nested too deeply") !=
      std::string::npos);
  std::string strings = "x";
  for (int i = 0; i < 100; ++i) strings = "f\"{" + strings + "}\"";
  CHECK(messageOf(strings) != "");
  CHECK(messageOf("f(" + repeat("(", 150) + "x" + repeat(")", 150) + ")") == "");
}

TEST_CASE("syntax: chains of operators may be of any length") {
  constexpr size_t kLength = 100'000;
  for (std::string link : {" + x", " - 1", " * y", " and z", " or z", " | x", " < y", " << 2", " @ m"}) {
    CAPTURE(link);
    Expr e = parseExpression("x" + repeat(link, kLength));
    CHECK(e.tree()->depth() < 10);
    CHECK(e.tree()->toString().size() > kLength);
    CHECK(e.tree()->toString(true).size() > kLength);
  }
  CHECK(StringLiteral(parseExpression(repeat("'a' ", kLength))).text() == repeat("a", kLength));
  CHECK(SequenceLiteral(parseExpression("[" + repeat("x, ", kLength) + "]")).elements().size() == kLength);
}

TEST_CASE("syntax: 100,000 statements") {
  constexpr size_t kCount = 100'000;
  std::string text = "def f(x):\n" + repeat("  x = torch.add(x, x) * 2 - self.bias\n", kCount) + "  return x\n";
  CHECK(SourceParser(sourceOf(std::move(text))).parseFunction().body().size() == kCount + 1);
}

TEST_CASE("syntax: ranges") {
  auto text = [](const Expr& e) { return std::string(e.range().text()); };
  BinOp sum(parseExpression(" (a) + f( b , ) "));
  CHECK(text(sum) == "a) + f( b");  // from the first token to the last of the operands, as torch.jit underlines
  CHECK(text(sum.lhs()) == "a");
  CHECK(text(sum.rhs()) == "f( b");
  Def def = SourceParser(sourceOf("@mark\ndef f(x: 'List[int]') -> int:\n  return x # why\n\n# end\n")).parseFunction();
  CHECK(def.range().text() == "def f(x: 'List[int]') -> int:\n  return x");
  CHECK(def.decl().params()[0].type().get().range().text() == "List[int]");
  CHECK(def.body()[0].range().text() == "return x");
  CHECK(def.withName("g").name().name() == "g");
  CHECK(def.withName("g").decl().tree() == def.decl().tree());
}

TEST_CASE("syntax: entry points take the whole text") {
  CHECK_THROWS_AS(SourceParser(sourceOf("def f(): pass\ndef g(): pass")).parseFunction(), UserError);
  CHECK_THROWS_AS(SourceParser(sourceOf("class C: pass")).parseFunction(), UserError);
  CHECK_THROWS_AS(SourceParser(sourceOf("def f(): pass")).parseClass(), UserError);
  CHECK_THROWS_AS(SourceParser(sourceOf("a b")).parseExpression(), UserError);
  CHECK_THROWS_AS(SourceParser(sourceOf("")).parseExpression(), UserError);
  CHECK(SourceParser(sourceOf("\n  (a\n +\n  b)\n")).parseExpression().kind() == '+');
  CHECK(SourceParser(sourceOf("")).parseFile().empty());
  CHECK(
      SourceParser(sourceOf("List['Foo']")).parseType().tree()->toString() ==
      "(subscript (variable (ident List)) (list (variable (ident Foo))))");
  auto old = SourceParser(
      sourceOf("op_version_set = 1\nimport torch\nfrom a import b; import c\n\"doc\"\nclass M(Module):\n  x : int\n"));
  CHECK(old.parseFile().size() == 1);
  CHECK_THROWS_WITH_AS(
      SourceParser(sourceOf("x = 1\n")).parseFile(), doctest::Contains("only def and class are allowed"), UserError);
}

TEST_CASE("syntax: numbers") {
  auto constant = [](const char* text) { return Const(parseExpression(text)); };
  CHECK(constant("1_000").asInt() == 1000);
  CHECK(constant("0x7fff_ffff_ffff_ffff").asInt() == INT64_MAX);
  CHECK(constant("-9223372036854775808").asInt() == INT64_MIN);
  CHECK(constant("0o17").asInt() == 15);
  CHECK(constant("0b101").asInt() == 5);
  CHECK(constant("0x1e5").isInt());
  CHECK_THROWS_AS(constant("9223372036854775808").asInt(), UserError);
  CHECK(constant("1e-3").asFloat() == 1e-3);
  CHECK(constant("1e400").asFloat() == HUGE_VAL);
  CHECK(constant("1e-400").asFloat() == 0);
  CHECK(constant("5.").isFloat());
  CHECK(constant("0.1").asFloat() == 0.1);
  CHECK(constant("2.5j").isComplex());
  CHECK(constant("2.5j").asImaginary() == 2.5);
}

TEST_CASE("syntax: strings are written so that they read back") {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  all += "é…😀 \xc3 0";
  std::string quoted = quoteString(all);
  for (char c : quoted) CHECK(c != '\n');
  CHECK(StringLiteral(parseExpression(quoted)).text() == all);
  CHECK(quoteString("a\"b\\\n\x01") == "\"a\\\"b\\\\\\n\\001\"");
}

TEST_CASE("syntax: lookahead does not advance") {
  Lexer lexer(sourceOf("a b c"));
  CHECK(lexer.lookahead().text() == "b");
  CHECK(lexer.cur().text() == "a");
  CHECK(lexer.next().text() == "a");
  CHECK(lexer.nextIf(TK_NUMBER) == false);
  CHECK(lexer.expect(TK_IDENT).text() == "b");
  CHECK_THROWS_WITH_AS(lexer.expect('+'), doctest::Contains("expected + but found 'c' here"), UserError);
}

TEST_CASE("syntax: views check the kind of their tree") {
  CHECK_THROWS_AS(Apply(parseExpression("x").tree()), InternalError);
  CHECK_THROWS_AS(parseExpression("x").tree()->tree(1), InternalError);
  CHECK_THROWS_AS(parseExpression("x").tree()->text(), InternalError);
}
