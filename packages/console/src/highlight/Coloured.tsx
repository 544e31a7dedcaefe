import { Fragment } from "preact"
import { useHighlight } from "./Highlight.js"
import type { Span } from "./Spans.js"

/** The pieces of a line in their colours. */
export const Spans = ({ spans }: { readonly spans: ReadonlyArray<Span> }) => (
  <>
    {spans.map(([text, kind], index) =>
      kind === "" ? (
        <Fragment key={`${index}`}>{text}</Fragment>
      ) : (
        <span key={`${index}`} class={`hl-${kind}`}>
          {text}
        </span>
      )
    )}
  </>
)

/** A text of a language. It is plain until its colours have come, and has the same height. */
export const Coloured = ({ language, text }: { readonly text: string; readonly language: string | undefined }) => {
  const lines = useHighlight(language, text)
  if (lines === undefined) return <>{text}</>
  return (
    <>
      {lines.map((spans, index) => (
        <Fragment key={`${index}`}>
          {index > 0 && "\n"}
          <Spans spans={spans} />
        </Fragment>
      ))}
    </>
  )
}
