import { readFileSync } from "node:fs"
import { join } from "node:path"
import ts from "typescript"
import { assert, describe, it } from "vitest"

const root = join(import.meta.dirname, "../../..")

/** The sources of the entry points that a package exports to everybody. */
const entriesOf = (name: string): ReadonlyArray<string> => {
  const { exports } = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"))
  return Object.entries<Record<string, string>>(exports)
    .filter(([path]) => !path.includes("*"))
    .map(([, { "@reins/source": source = "" }]) => join("packages", name, source))
}

/** Rooms that are being written anew: their entry points have members without a docstring. Take a file out once it has none. */
const unfinished = [
  "changes/Changesets",
  "changes/Deliveries",
  "changes/MergeRequests",
  "events/EventFeed",
  "identity/Accounts",
  "identity/ApiKeys",
  "projects/Projects",
  "sessions/Messages",
  "sessions/Sessions",
  "sessions/Turns"
].map((name) => `packages/core/src/${name}.ts`)

const isDocumented = (node: ts.Node): boolean => ts.getJSDocCommentsAndTags(node).length > 0

const has = (node: ts.Node, ...kinds: ReadonlyArray<ts.SyntaxKind>): boolean =>
  ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some(({ kind }) => kinds.includes(kind))

const nameOf = (node: ts.Node): string => {
  const named = ts.isVariableStatement(node) ? node.declarationList.declarations[0] : node
  return named !== undefined && "name" in named && named.name !== undefined ? (named.name as ts.Node).getText() : ""
}

/** The members that a declaration shows, also those of the shapes that a class is made from. */
const membersOf = (node: ts.Node): ReadonlyArray<ts.Node> => {
  if (ts.isInterfaceDeclaration(node) || ts.isTypeLiteralNode(node)) return [...node.members]
  if (!ts.isClassDeclaration(node)) return []
  const own = node.members.filter(
    (member) =>
      !ts.isConstructorDeclaration(member) &&
      // The layer of a service is the service, of which its docstring tells.
      nameOf(member) !== "layer" &&
      !has(member, ts.SyntaxKind.PrivateKeyword, ts.SyntaxKind.OverrideKeyword, ts.SyntaxKind.DeclareKeyword)
  )
  const shapes: Array<ts.Node> = []
  const look = (child: ts.Node): void => {
    if (ts.isTypeLiteralNode(child)) shapes.push(...child.members)
    else ts.forEachChild(child, look)
  }
  for (const clause of node.heritageClauses ?? []) look(clause)
  return [...own, ...shapes]
}

const undocumentedIn = (file: string): ReadonlyArray<string> => {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest, true)
  return source.statements.flatMap((statement) => {
    if (!has(statement, ts.SyntaxKind.ExportKeyword)) return []
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
    assert.isAtMost(entries.length, 40)
    const { exports } = JSON.parse(readFileSync(join(root, "packages/core/package.json"), "utf8"))
    assert.deepStrictEqual(Object.keys(exports["./*"]), ["@reins/source"])
  })

  it.each(
    [...entries, "packages/server/src/HttpServer.ts", "packages/server/src/Server.ts"].filter(
      (file) => !unfinished.includes(file)
    )
  )("%s has a docstring on everything that it exports", (file) => {
    assert.deepStrictEqual(undocumentedIn(file), [])
  })
})
