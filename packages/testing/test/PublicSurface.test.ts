import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import ts from "typescript"
import { assert, describe, it } from "vitest"

const root = join(import.meta.dirname, "../../..")

const exportsOf = (name: string): Readonly<Record<string, Readonly<Record<string, string>>>> =>
  JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8")).exports

/** The sources of the entry points that a package exports to everybody. */
const entriesOf = (name: string): ReadonlyArray<string> =>
  Object.entries(exportsOf(name))
    .filter(([path]) => !path.includes("*"))
    .map(([, { "@reins/source": source = "" }]) => join("packages", name, source))

const isDocumented = (node: ts.Node): boolean => ts.getJSDocCommentsAndTags(node).length > 0

const has = (node: ts.Node, ...kinds: ReadonlyArray<ts.SyntaxKind>): boolean =>
  ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some(({ kind }) => kinds.includes(kind))

const nameOf = (node: ts.Node): string => {
  const named = ts.isVariableStatement(node) ? node.declarationList.declarations[0] : node
  return named !== undefined && "name" in named && named.name !== undefined ? (named.name as ts.Node).getText() : ""
}

/** The members of the object types that are written within a node. */
const shapesIn = (node: ts.Node): ReadonlyArray<ts.Node> => {
  const members: Array<ts.Node> = []
  const look = (child: ts.Node): void => {
    if (ts.isTypeLiteralNode(child)) members.push(...child.members)
    else ts.forEachChild(child, look)
  }
  look(node)
  return members
}

/** The members that a declaration shows, also those of the shapes that a class is made from. */
const membersOf = (node: ts.Node): ReadonlyArray<ts.Node> => {
  if (ts.isInterfaceDeclaration(node)) return [...node.members]
  if (ts.isTypeAliasDeclaration(node)) return shapesIn(node.type)
  if (!ts.isClassDeclaration(node)) return []
  const own = node.members.filter(
    (member) =>
      !ts.isConstructorDeclaration(member) &&
      // The layer of a service is the service, of which its docstring tells.
      nameOf(member) !== "layer" &&
      !has(member, ts.SyntaxKind.PrivateKeyword, ts.SyntaxKind.OverrideKeyword, ts.SyntaxKind.DeclareKeyword)
  )
  return [...own, ...(node.heritageClauses ?? []).flatMap(shapesIn)]
}

/** The names that an export takes from another file of its package; undefined for all of them. */
const namesIn = ({ exportClause }: ts.ExportDeclaration): ReadonlySet<string> | undefined =>
  exportClause !== undefined && ts.isNamedExports(exportClause)
    ? new Set(exportClause.elements.map(({ name, propertyName }) => (propertyName ?? name).text))
    : undefined

/** The exports of a file without a docstring, also those that it takes from other files of its package. `names` are those that count. */
const undocumentedIn = (file: string, names?: ReadonlySet<string>): ReadonlyArray<string> => {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true)
  return source.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      const from = statement.moduleSpecifier?.getText().slice(1, -1) ?? ""
      const taken = from.startsWith(".")
        ? join(dirname(file), from.replace(/\.js$/, ".ts"))
        : from.replace(/^@reins\/(base|machine)\/(.*)$/, "packages/$1/src/$2.ts")
      return taken === from ? [] : undocumentedIn(taken, namesIn(statement))
    }
    if (!has(statement, ts.SyntaxKind.ExportKeyword) || names?.has(nameOf(statement)) === false) return []
    // A type beside the schema of its name.
    const isOfSchema = ts.isTypeAliasDeclaration(statement) && /^typeof /.test(statement.type.getText())
    const own = isDocumented(statement) || isOfSchema ? [] : [nameOf(statement)]
    const members = membersOf(statement).filter((member) => !isDocumented(member))
    return [...own, ...members.map((member) => `${nameOf(statement)}.${nameOf(member)}`)]
  })
}

describe("the public surface", () => {
  const entries = [...entriesOf("core"), ...entriesOf("client"), ...entriesOf("server")]

  it("is chosen: few entry points, and nothing else of the core outside of this repository", () => {
    assert.isAtMost(entries.length, 32)
    assert.deepStrictEqual(Object.keys(exportsOf("core")["./*"] ?? {}), ["@reins/source"])
  })

  it.each(entries)("%s has a docstring on everything that it exports", (file) => {
    assert.strictEqual(undocumentedIn(file).join(", "), "")
  })

  it("is all that the examples and the documents name", () => {
    const entryPoints = Object.keys(exportsOf("core")).map((path) => path.replace(/^\./, "@reins/core"))
    const files = ["examples", "docs", "."].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: folder !== ".", encoding: "utf8" })
        .filter((file) => /\.(mjs|mts|md)$/.test(file) && !/(^|\/)(node_modules|test)\//.test(file))
        .map((file) => join(folder, file))
    )
    const named = files.flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(/@reins\/core\/[\w/]+/g)].map(([name]) => `${file}: ${name}`)
    )
    assert.isAbove(named.length, 20)
    assert.deepStrictEqual(
      named.filter((name) => !entryPoints.some((entryPoint) => name.endsWith(`: ${entryPoint}`))),
      []
    )
  })
})
