import type { MarkedToken, Token, Tokens } from "marked"
import { type ComponentChildren, Fragment, type VNode } from "preact"

/** Draws a block of code. */
export type CodeOf = (code: { readonly text: string; readonly language: string }) => ComponentChildren

/** The only schemes that a link of an agent may have. */
const schemes = new Set(["http:", "https:", "mailto:"])

/** The address of a link, or undefined for one that leads to no page or may run a script. */
export const safeHref = (href: string): string | undefined => {
  try {
    const url = new URL(href)
    return schemes.has(url.protocol) ? url.href : undefined
  } catch {
    return undefined
  }
}

/**
 * A block of Markdown as elements. HTML of the text stays text, and pictures become links, because a picture would tell its server that somebody
 * reads.
 */
export const blockOf = (token: Token, code: CodeOf): ComponentChildren => {
  // Boundary: without extensions the lexer gives these alone.
  const block = token as MarkedToken
  switch (block.type) {
    case "heading":
      return headingOf(block.depth, inlineOf(block.tokens))
    case "paragraph":
      return <p>{inlineOf(block.tokens)}</p>
    case "text":
      return block.tokens === undefined ? decoded(block.text) : inlineOf(block.tokens)
    case "code":
      return code({ text: block.text, language: (block.lang ?? "").split(/\s/)[0] ?? "" })
    case "blockquote":
      return <blockquote>{blocksOf(block.tokens, code)}</blockquote>
    case "list":
      return listOf(block, code)
    case "table":
      return tableOf(block)
    case "hr":
      return <hr />
    case "html":
      return block.text.trim() === "" ? null : <p>{block.text.trimEnd()}</p>
    case "space":
    case "def":
      return null
    case "checkbox":
      return checkbox(block.checked)
    default:
      return <p>{inlineOf([block])}</p>
  }
}

const blocksOf = (tokens: ReadonlyArray<Token>, code: CodeOf): ComponentChildren =>
  tokens.map((token, index) => <Fragment key={`${index}`}>{blockOf(token, code)}</Fragment>)

/** The page has headings of its own above those of a text. */
const headingOf = (depth: number, children: ComponentChildren): VNode => {
  if (depth <= 1) return <h3>{children}</h3>
  if (depth === 2) return <h4>{children}</h4>
  return depth === 3 ? <h5>{children}</h5> : <h6>{children}</h6>
}

const checkbox = (isChecked: boolean): VNode => (
  <span class={isChecked ? "task done" : "task"}>
    <span aria-hidden="true">{isChecked ? "☑" : "☐"}</span>
    <span class="sr">{isChecked ? "done:" : "to do:"}</span>{" "}
  </span>
)

const listOf = ({ items, ordered, start }: Tokens.List, code: CodeOf): VNode => {
  const entries = items.map((item, index) => (
    <li key={`${index}`} class={item.task ? "task-item" : undefined}>
      {item.task && !item.tokens.some(hasCheckbox) && checkbox(item.checked === true)}
      {blocksOf(item.tokens, code)}
    </li>
  ))
  if (!ordered) return <ul>{entries}</ul>
  return start === "" || start === 1 ? <ol>{entries}</ol> : <ol start={start}>{entries}</ol>
}

const hasCheckbox = (token: Token): boolean =>
  token.type === "checkbox" || ("tokens" in token && token.tokens !== undefined && token.tokens.some(hasCheckbox))

const tableOf = ({ header, rows }: Tokens.Table): VNode => (
  // Keys have to reach whatever scrolls.
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys scroll it
  <section class="table" aria-label="Table" tabIndex={0}>
    <table>
      <thead>
        <tr>
          {header.map((cell, index) => (
            <th key={`${index}`} class={alignOf(cell)}>
              {inlineOf(cell.tokens)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={`${at}`}>
            {row.map((cell, index) => (
              <td key={`${index}`} class={alignOf(cell)}>
                {inlineOf(cell.tokens)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

const alignOf = ({ align }: Tokens.TableCell): string | undefined =>
  align === "right" ? "right" : align === "center" ? "center" : undefined

/** Words within a line. */
const inlineOf = (tokens: ReadonlyArray<Token>): ComponentChildren =>
  tokens.map((token, index) => <Fragment key={`${index}`}>{wordOf(token as MarkedToken)}</Fragment>)

const wordOf = (token: MarkedToken): ComponentChildren => {
  switch (token.type) {
    case "strong":
      return <strong>{inlineOf(token.tokens)}</strong>
    case "em":
      return <em>{inlineOf(token.tokens)}</em>
    case "del":
      return <s>{inlineOf(token.tokens)}</s>
    case "codespan":
      return <code>{token.text}</code>
    case "br":
      return <br />
    case "link":
      return linkOf(token.href, inlineOf(token.tokens))
    case "image":
      return linkOf(token.href, token.text === "" ? token.href : token.text)
    case "text":
      return token.tokens === undefined ? decoded(token.text) : inlineOf(token.tokens)
    case "escape":
      return token.text
    case "checkbox":
      return checkbox(token.checked)
    case "html":
      return /^<br\s*\/?>$/i.test(token.text.trim()) ? <br /> : token.text
    default:
      return token.raw
  }
}

const linkOf = (href: string, children: ComponentChildren): ComponentChildren => {
  const safe = safeHref(href)
  return safe === undefined ? (
    children
  ) : (
    <a href={safe} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  )
}

const named: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  hellip: "…",
  ndash: "–",
  mdash: "—",
  copy: "©",
  rarr: "→",
  larr: "←",
  times: "×"
}

/** The characters that the text names, as in `&lt;`. The lexer leaves them as they are. */
const decoded = (text: string): string =>
  text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(\w{2,8}));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return named[name] ?? whole
    const point = Number.parseInt(decimal ?? hex, decimal === undefined ? 16 : 10)
    return point === 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)
      ? "\ufffd"
      : String.fromCodePoint(point)
  })
