import type { Token } from "marked"
import { memo } from "preact/compat"
import { useRef } from "preact/hooks"
import { blocksOf, grown, noBlocks } from "../markdown/Blocks.js"
import { CodeBlock } from "../markdown/CodeBlock.js"
import { blockOf } from "../markdown/Render.js"

/** Markdown of people and agents, without HTML. While the text grows, only its last blocks are drawn anew. */
export const Prose = ({ isGrowing = false, text }: { readonly text: string; readonly isGrowing?: boolean }) => {
  const blocks = useRef(noBlocks)
  const drawn = useRef<{ readonly text: string; readonly isGrowing: boolean } | undefined>(undefined)
  if (drawn.current?.text !== text || drawn.current.isGrowing !== isGrowing) {
    blocks.current = isGrowing ? grown(blocks.current, text) : blocksOf(text)
    drawn.current = { text, isGrowing }
  }
  const { settled, tokens } = blocks.current
  return (
    <div class="prose">
      {tokens.map((token, index) => (
        <Block key={`${index}`} token={token} isGrowing={index >= settled} />
      ))}
    </div>
  )
}

const Block = memo(
  ({ isGrowing, token }: { readonly token: Token; readonly isGrowing: boolean }) => (
    <>
      {blockOf(token, ({ language, text }) => (
        <CodeBlock text={text} language={language} isGrowing={isGrowing} />
      ))}
    </>
  ),
  // The end of a text may define links of its begin, so a block that no longer grows is drawn once more.
  (one, other) =>
    one.isGrowing === other.isGrowing &&
    (one.token === other.token || (one.isGrowing && one.token.raw === other.token.raw))
)
