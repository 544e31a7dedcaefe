import { Fragment } from "preact"

/** Words of people and agents: code stands out, everything else stays as it was written. */
export const Prose = ({ text }: { readonly text: string }) => (
  <div class="prose">
    {text
      .split(/^```/m)
      .map((piece, index) =>
        index % 2 === 1 ? <Code key={`${index}`} piece={piece} /> : <Words key={`${index}`} piece={piece} />
      )}
  </div>
)

const Code = ({ piece }: { readonly piece: string }) => (
  <code class="block">{piece.slice(piece.indexOf("\n") + 1).trimEnd()}</code>
)

const Words = ({ piece }: { readonly piece: string }) =>
  piece.trim() === "" ? null : (
    <p>
      {piece
        .trim()
        .split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)
        .map((part, index) =>
          index % 2 === 0 ? (
            <Fragment key={`${index}`}>{part}</Fragment>
          ) : part.startsWith("`") ? (
            <code key={`${index}`}>{part.slice(1, -1)}</code>
          ) : (
            <strong key={`${index}`}>{part.slice(2, -2)}</strong>
          )
        )}
    </p>
  )
