import { createHash } from "node:crypto"
import { Reply } from "../Reply.js"

/** Markup that is safe to send. `html` makes it. */
export class Html {
  constructor(readonly text: string) {}
}

/** Makes markup from a template. Texts in it are escaped, markup is not. */
export const html = (parts: TemplateStringsArray, ...values: ReadonlyArray<string | Html>): Html =>
  new Html(parts.map((part, index) => part + (index < values.length ? textOf(values[index] ?? "") : "")).join(""))

const textOf = (value: string | Html): string => (value instanceof Html ? value.text : escape(value))

const escape = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** The content of a page, and the status that it is sent with. */
export interface Page {
  readonly status: number
  readonly title: string
  readonly content: Html
}

/** The answer that holds a page. The page runs no script, loads nothing, and sends forms to this service only. */
export const replyWith = ({ content, status, title }: Page, headers: Readonly<Record<string, string>> = {}): Reply =>
  new Reply(status, documentOf(title, content), {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
    ...headers
  })

const documentOf = (title: string, content: Html): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title} - Reins</title>
${style}
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`.text

const css = `
:root { color-scheme: light dark; --back: #fff; --front: #1c1e21; --soft: #5c6370; --line: #8a919e; --main: #1f4fd8; --on-main: #fff; --bad: #b3261e }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181c; --front: #eceef2; --soft: #a8afbb; --line: #6b7280; --main: #8fb0ff; --on-main: #10131a; --bad: #ff9b94 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--back); color: var(--front); font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 26rem; margin: 12vh auto 3rem; padding: 0 1.25rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600 }
input, button { width: 100%; padding: .6rem .75rem; font: inherit; border-radius: .4rem }
input { border: 1px solid var(--line); background: transparent; color: inherit }
button { margin-top: 1.25rem; border: 0; background: var(--main); color: var(--on-main); font-weight: 600; cursor: pointer }
:focus-visible { outline: 3px solid var(--main); outline-offset: 2px }
.hint { color: var(--soft); margin: .25rem 0 0 }
.alert { color: var(--bad); font-weight: 600 }
select { width: 100%; padding: .6rem .75rem; font: inherit; border-radius: .4rem; border: 1px solid var(--line); background: var(--back); color: inherit }
fieldset { border: 0; margin: 1.25rem 0 0; padding: 0 }
legend { font-weight: 600; padding: 0 }
.choice { display: flex; gap: .6rem; align-items: baseline; margin-top: .6rem }
.choice input { width: auto; flex: none }
.choice label { margin: 0; font-weight: 600 }
.choice span { display: block; font-weight: 400; color: var(--soft) }
.other { background: transparent; color: var(--main); border: 1px solid var(--line); margin-top: .75rem }
code { overflow-wrap: anywhere }
`

const style = new Html(`<style>${css}</style>`)

/** Pieces for pages that are put together from lists, or have a policy of their own. */
export const markup = {
  join: (parts: ReadonlyArray<Html>): Html => new Html(parts.map(({ text }) => text).join("")),
  /** The policy of a page that runs no script and loads nothing, with the rules besides. */
  policy: (rules: string): string =>
    `default-src 'none'; style-src 'sha256-${createHash("sha256").update(css).digest("base64")}'; ${rules}`
}

const policy = markup.policy("form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
