/** A piece of a line, with the kind that gives its colour; empty for none. */
export type Span = readonly [text: string, kind: string]

/** The tree of a highlighter, as far as it is read. */
interface Node {
  readonly type: string
  readonly value?: string
  readonly properties?: { readonly className?: unknown }
  readonly children?: ReadonlyArray<Node>
}

/** The kinds that have a colour. Others look like plain text. */
const kinds: ReadonlySet<string> = new Set([
  "addition",
  "attr",
  "attribute",
  "built_in",
  "comment",
  "deletion",
  "keyword",
  "literal",
  "meta",
  "name",
  "number",
  "regexp",
  "section",
  "selector-class",
  "selector-id",
  "selector-tag",
  "string",
  "symbol",
  "tag",
  "title",
  "type",
  "variable"
])

const kindOf = ({ properties }: Node, outer: string): string => {
  const names = properties?.className
  const [first] = Array.isArray(names) ? names : []
  const kind = typeof first === "string" ? first.replace(/^hljs-/, "") : ""
  return kinds.has(kind) ? kind : outer
}

/** The lines of a coloured text. Each line has its own pieces, so that a view can show any of them. */
export const linesOf = (root: Node): ReadonlyArray<ReadonlyArray<Span>> => {
  const lines: Array<Array<Span>> = [[]]
  const put = (text: string, kind: string) => {
    text.split("\n").forEach((part, index) => {
      if (index > 0) lines.push([])
      if (part !== "") lines.at(-1)?.push([part, kind])
    })
  }
  const walk = (node: Node, kind: string): void => {
    if (node.type === "text") put(node.value ?? "", kind)
    const inner = node.type === "element" ? kindOf(node, kind) : kind
    for (const child of node.children ?? []) walk(child, inner)
  }
  walk(root, "")
  return lines
}
