import { Fragment } from "preact"
import { useMemo } from "preact/hooks"
import { piecesOf } from "./Ansi.js"

/** The output of a program, in its colours. */
export const Output = ({ text }: { readonly text: string }) => {
  const pieces = useMemo(() => piecesOf(text), [text])
  return (
    <code class="block output">
      {pieces.map(([part, look], index) =>
        look === "" ? (
          <Fragment key={`${index}`}>{part}</Fragment>
        ) : (
          <span key={`${index}`} class={look}>
            {part}
          </span>
        )
      )}
    </code>
  )
}
