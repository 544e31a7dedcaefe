import { Fragment } from "preact"
import type { Span } from "../highlight/Spans.js"
import type { Line } from "./DiffRows.js"

const signs = { context: " ", insert: "+", delete: "−" } as const

/** The text of a line, with its sign, its colours, and a mark on what differs from the line that it replaces. */
export const LineText = ({
  line: { changed, kind, text },
  spans
}: {
  readonly line: Line
  /** The coloured pieces of the line; undefined until they have come. */
  readonly spans?: ReadonlyArray<Span> | undefined
}) => {
  const whole = spans?.map(([part]) => part).join("") === text ? (spans ?? []) : [[text, ""] as const]
  return (
    <span class="code">
      <span class="sign">{signs[kind]}</span>
      {changed === null ? (
        <Pieces spans={whole} />
      ) : (
        <>
          <Pieces spans={cut(whole, 0, changed[0])} />
          <mark>
            <Pieces spans={cut(whole, changed[0], changed[1])} />
          </mark>
          <Pieces spans={cut(whole, changed[1], text.length)} />
        </>
      )}
    </span>
  )
}

const Pieces = ({ spans }: { readonly spans: ReadonlyArray<Span> }) => (
  <>
    {spans.map(([part, kind], index) =>
      kind === "" ? (
        <Fragment key={`${index}`}>{part}</Fragment>
      ) : (
        <span key={`${index}`} class={`hl-${kind}`}>
          {part}
        </span>
      )
    )}
  </>
)

/** The pieces between two positions of a line. */
export const cut = (spans: ReadonlyArray<Span>, from: number, to: number): ReadonlyArray<Span> => {
  let at = 0
  return spans.flatMap(([part, kind]): ReadonlyArray<Span> => {
    const begin = at
    at += part.length
    const piece = part.slice(Math.max(0, from - begin), Math.max(0, to - begin))
    return piece === "" ? [] : [[piece, kind]]
  })
}
